// SPDX-License-Identifier: GPL-2.0
#include "trace/lexer.h"

#include <algorithm>
#include <string>

namespace djprobe::loader {
namespace {

// The longer ones first: what begins alike is taken whole.
constexpr std::string_view kOperators[] = {
    "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "&",
    "|",  "^",  "~",  "!",  "<",  ">",  "(",  ")",  "[",  "]", ".", ",", "?", ":"};

bool is_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}
bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}
bool is_printable(char letter) {
    return letter >= ' ' && letter <= '~';
}
bool is_blank(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\n';
}

Token token(TokenKind kind, std::string_view text, std::size_t at, std::size_t end) {
    return {kind, text.substr(at, end - at), {at, end - at}};
}

// One letter, or one that a backslash makes.
std::size_t end_of_character(std::string_view text, std::size_t at) {
    const std::size_t letter = at + 1;
    const bool escaped = letter < text.size() && text[letter] == '\\';
    const std::size_t quote = letter + (escaped ? 2 : 1);
    const bool whole = quote < text.size() && text[quote] == '\'' && text[letter] != '\'' &&
                       is_printable(text[quote - 1]);
    if (!whole) fail_at(text, {at, 1}, "a character is written as 'a'");
    return quote + 1;
}

}  // namespace

Token next_token(std::string_view text, std::size_t at) {
    while (at < text.size() && is_blank(text[at]))
        ++at;
    if (at == text.size()) return token(TokenKind::kEnd, text, at, at);
    const char first = text[at];
    if (is_letter(first) || is_digit(first)) {
        std::size_t end = at;
        while (end < text.size() && (is_letter(text[end]) || is_digit(text[end])))
            ++end;
        return token(is_digit(first) ? TokenKind::kNumber : TokenKind::kName, text, at, end);
    }
    if (first == '\'') return token(TokenKind::kCharacter, text, at, end_of_character(text, at));
    for (const std::string_view sign : kOperators)
        if (text.substr(at).starts_with(sign))
            return token(TokenKind::kOperator, text, at, at + sign.size());
    if (first == '=') fail_at(text, {at, 1}, "a trace changes nothing: compare with ==");
    if (first == '"') fail_at(text, {at, 1}, "no strings: compare letters, or filter by --comm");
    fail_at(text, {at, 1}, "no expression of C has this letter");
}

}  // namespace djprobe::loader
