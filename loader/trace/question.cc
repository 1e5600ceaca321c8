// SPDX-License-Identifier: GPL-2.0
#include "trace/question.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernel/glob.h"
#include "kernel/place.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kNameLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:";
constexpr std::string_view kGlobLetters = "*?[]!^-";
constexpr std::string_view kColumns[] = {"time", "cpu", "pid", "tid", "uid", "comm"};

// The name goes into the program's text.
void check_letters(const std::string& name, bool is_glob) {
    std::string letters(kNameLetters);
    if (is_glob) letters += kGlobLetters;
    const std::size_t wrong = name.find_first_not_of(letters);
    if (wrong == std::string::npos) return;
    if (name.ends_with("()") && wrong == name.size() - 2)
        fail(ExitCode::kUsage, "'{}' is no function's name: write {}", name, name.substr(0, wrong));
    fail(ExitCode::kUsage, "'{}' is no function's name: it has letters, digits, _ and .", name);
}

void check_module(const Question& question) {
    const std::string module = question.module();
    if (module.find_first_of("*?[") == std::string::npos) return;
    fail(ExitCode::kUsage, "{}: only the function may be a pattern: write MODULE:{}",
         question.function(), question.bare_function());
}

constexpr std::string_view kDigits = "0123456789";

constexpr unsigned kLastLine = 10'000'000;

std::optional<unsigned> line_number(std::string_view digits) {
    const auto number = parse_unsigned(digits);
    if (!number || *number > kLastLine) return std::nullopt;
    if (digits.find_first_not_of(kDigits) != digits.npos) return std::nullopt;
    return static_cast<unsigned>(*number);
}

// "MODULE:" before a function or a file.
std::string_view take_module(std::string_view& name) {
    const std::size_t colon = name.find(':');
    if (colon == name.npos) return "";
    const std::string_view module = name.substr(0, colon);
    name.remove_prefix(colon + 1);
    return module;
}

// A function's name may have dots, too: "vfs_read.part.0".
bool is_source_file(std::string_view name) {
    if (name.find_first_of("*?[") != name.npos) return false;
    return name.find('/') != name.npos || name.ends_with(".c") || name.ends_with(".h");
}

// What can only be a line is none of another kind of place.
void reject_line(std::string_view text, std::string_view name, std::string_view line) {
    if (is_source_file(line))
        fail(ExitCode::kUsage, "'{0}' is a file: write {0}:LINE for one of its lines", text);
    if (!is_source_file(name) && !line.starts_with('+')) return;
    const bool counts = line.starts_with('+');
    fail(ExitCode::kUsage, "'{}': '{}' is no line, a whole number up to {}", text,
         line.substr(counts ? 1 : 0), kLastLine);
}

// A file's name has a dot, and a function's has none that C knows.
std::optional<LinePlace> parse_line(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) reject_line(text, "", text);
    if (colon == text.npos || colon == 0) return std::nullopt;
    std::string_view name = text.substr(0, colon), number = text.substr(colon + 1);
    const bool counts_from_function = number.starts_with('+');
    if (counts_from_function) number.remove_prefix(1);
    const auto line = line_number(number);
    if (!line) reject_line(text, name, text.substr(colon + 1));
    if (!line) return std::nullopt;
    const std::string_view module = take_module(name);
    if (name.find(':') != name.npos) return std::nullopt;
    const bool is_file = name.find_first_of("./") != name.npos;
    if (!is_file && !counts_from_function)
        fail(ExitCode::kUsage,
             "'{}': write {}:+{} for a line that is counted from the function's, or FILE:{}", text,
             name, number, number);
    LinePlace place{std::string(text), std::string(module), "", "", *line};
    (counts_from_function ? place.function : place.file) = name;
    return place;
}

}  // namespace

std::string Question::place() const {
    if (line) return line->text;
    return Place{site, at_returns}.str();
}

std::string Question::module() const {
    if (line) return line->module;
    if (!names_module(site.symbol)) return "";
    return site.symbol.substr(0, site.symbol.find(':'));
}

std::string Question::bare_function() const {
    return names_module(site.symbol) ? site.symbol.substr(site.symbol.find(':') + 1) : site.symbol;
}

void parse_place(std::string_view text, Question& question) {
    question.line = parse_line(text);
    if (question.line) return;
    const Place place = parse_place(text);
    question.at_returns = place.at_returns;
    question.site = place.site;
    if (question.at_returns && question.site.offset != 0)
        fail(ExitCode::kUsage, "{}: returns are those of a whole function: {}", text,
             question.site.is_counted_from_text()
                 ? "trace takes them by its name; attach --ret and latency by such a place, too"
                 : question.site.whole_function_advice());
    check_letters(question.function(), question.is_glob());
    check_module(question);
}

std::vector<std::string> parse_columns(const std::string& text) {
    std::vector<std::string> columns;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string column = text.substr(at, comma - at);
        at = comma + 1;
        if (std::ranges::find(kColumns, column) == std::end(kColumns))
            fail(ExitCode::kUsage, "--columns: '{}' is none of {}", column,
                 fmt::join(kColumns, ", "));
        if (std::ranges::find(columns, column) != columns.end())
            fail(ExitCode::kUsage, "--columns: {} stands there twice", column);
        columns.push_back(column);
    }
    return columns;
}

}  // namespace djprobe::loader
