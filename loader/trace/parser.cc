// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernel/site_spec.h"
#include "trace/expression.h"
#include "trace/lexer.h"
#include "trace/precedence.h"

namespace djprobe::loader {
namespace {

using Kind = Expression::Kind;

// Deeper ones are not written by hand, and each level takes some of our stack.
constexpr int kDeepestExpression = 64;

constexpr std::string_view kTags[] = {"struct", "union", "enum"};
constexpr std::string_view kBasic[] = {"char", "short",  "int",      "long",
                                       "void", "signed", "unsigned", "_Bool"};

bool is_one_of(std::string_view word, const auto& words) {
    return std::ranges::find(words, word) != std::end(words);
}

class Parser {
  public:
    Parser(std::string_view text, const IsTypedef& is_typedef)
        : text_(text), is_typedef_(is_typedef), token_(next_token(text, 0)) {}

    std::vector<Item> items() {
        std::vector<Item> items;
        do {
            items.push_back({condition(), form()});
        } while (take(","));
        expect_end("a comma or the end");
        return items;
    }
    Expression only() {
        Expression all = condition();
        expect_end("the end");
        return all;
    }

  private:
    class Deeper {
      public:
        explicit Deeper(Parser& parser) : parser_(parser) {
            if (++parser.depth_ > kDeepestExpression) parser.wrong("the expression nests too deep");
        }
        ~Deeper() { --parser_.depth_; }
        Deeper(const Deeper&) = delete;

      private:
        Parser& parser_;
    };

    [[noreturn]] void wrong(const std::string& message) const {
        fail_at(text_, token_.span, message);
    }
    void expect_end(std::string_view what) const {
        if (token_.kind != TokenKind::kEnd)
            wrong(fmt::format("{} must stand here, not '{}'", what, token_.text));
    }
    Token take() {
        end_ = token_.span.end();
        return std::exchange(token_, next_token(text_, token_.span.end()));
    }
    bool take(std::string_view sign) {
        if (!token_.is(sign)) return false;
        take();
        return true;
    }
    void need(std::string_view sign, std::string_view of) {
        if (!take(sign)) wrong(fmt::format("'{}' is missing here, for the {}", sign, of));
    }

    Expression node(Kind kind, const Token& word, std::size_t begin,
                    std::vector<Expression> children) {
        Expression made{kind,     std::string(word.text), false, {}, std::move(children), {},
                        word.span};
        made.span = {begin, end_ - begin};
        return made;
    }

    std::optional<Form> form() {
        if (!token_.is(":")) return std::nullopt;
        take();
        if (token_.kind != TokenKind::kName)
            wrong("a form is a word: str, ustr, x, ip, hex, sym, kstack");
        const Token word = take();
        Form form{std::string(word.text), std::nullopt, word.span};
        if (token_.kind != TokenKind::kNumber) return form;
        const auto length = parse_unsigned(token_.text);
        if (!length || *length == 0 || *length > UINT16_MAX)
            wrong("a length is a number from 1 to 65535");
        form.length = static_cast<std::uint32_t>(*length);
        take();
        return form;
    }

    Expression condition() {
        const Deeper deeper(*this);
        Expression first = binary(1);
        if (!token_.is("?")) return first;
        const std::size_t begin = first.span.at;
        const Token sign = take();
        Expression yes = condition();
        need(":", "'?' before it");
        Expression no = condition();
        return node(Kind::kCondition, sign, begin, three(first, yes, no));
    }

    static std::vector<Expression> three(Expression& a, Expression& b, Expression& c) {
        std::vector<Expression> all;
        all.push_back(std::move(a));
        all.push_back(std::move(b));
        all.push_back(std::move(c));
        return all;
    }

    // Operators that bind more than `least`.
    Expression binary(int least) {
        Expression left = unary();
        int links = 0;
        for (int strength = operator_here(); strength > least; strength = operator_here()) {
            if (++links > kDeepestExpression) wrong("the expression nests too deep");
            const std::size_t begin = left.span.at;
            const Token sign = take();
            std::vector<Expression> both;
            both.push_back(std::move(left));
            both.push_back(binary(strength));
            left = node(Kind::kBinary, sign, begin, std::move(both));
        }
        return left;
    }
    [[nodiscard]] int operator_here() const {
        return token_.kind == TokenKind::kOperator ? binds(token_.text) : 0;
    }

    Expression unary() {
        const Deeper deeper(*this);
        if (token_.kind == TokenKind::kOperator &&
            std::string_view("-+!~*&").find(token_.text) != std::string_view::npos) {
            const Token sign = take();
            std::vector<Expression> one;
            one.push_back(unary());
            return node(Kind::kUnary, sign, sign.span.at, std::move(one));
        }
        if (!token_.is("(")) return postfix(primary());
        const Token open = take();
        if (begins_type()) return cast(open);
        if (ends_as_type()) no_type(token_);
        const Token first = token_;
        Expression inner = condition();
        need(")", "'(' before it");
        if (inner.kind == Kind::kName && begins_word()) no_type(first);
        inner.span = {open.span.at, end_ - open.span.at};
        return postfix(std::move(inner));
    }

    [[nodiscard]] bool begins_type() const {
        if (token_.kind != TokenKind::kName) return false;
        return token_.text == "const" || is_one_of(token_.text, kTags) ||
               is_one_of(token_.text, kBasic) || is_typedef_(token_.text);
    }

    // "(sock *)": what only a type can be.
    [[nodiscard]] bool ends_as_type() const {
        if (token_.kind != TokenKind::kName) return false;
        Token next = next_token(text_, token_.span.end());
        if (!next.is("*")) return false;
        while (next.is("*"))
            next = next_token(text_, next.span.end());
        return next.is(")");
    }
    // "(sock)sk": behind a value stands an operator.
    [[nodiscard]] bool begins_word() const {
        return token_.kind == TokenKind::kName || token_.kind == TokenKind::kNumber ||
               token_.kind == TokenKind::kCharacter;
    }
    [[noreturn]] void no_type(const Token& word) const {
        fail_at(text_, word.span,
                fmt::format("the kernel has no type '{0}': one of a struct is 'struct {0}'",
                            word.text));
    }

    Expression cast(const Token& open) {
        CastType type = type_name();
        need(")", "type before it");
        std::vector<Expression> one;
        one.push_back(unary());
        Expression made = node(Kind::kCast, open, open.span.at, std::move(one));
        made.cast = std::move(type);
        return made;
    }

    // Qualifiers change nothing of what is read.
    void skip_const() {
        while (token_.kind == TokenKind::kName && token_.text == "const")
            take();
    }

    CastType type_name() {
        CastType type;
        skip_const();
        if (!begins_type()) wrong("the name of a type must stand here");
        const std::size_t begin = token_.span.at;
        if (is_one_of(token_.text, kTags)) {
            type.tag = take().text;
            if (token_.kind != TokenKind::kName)
                wrong("the name of the " + type.tag + " is missing");
            type.name = take().text;
        } else if (is_one_of(token_.text, kBasic)) {
            while (token_.kind == TokenKind::kName && is_one_of(token_.text, kBasic))
                type.name += (type.name.empty() ? "" : " ") + std::string(take().text);
        } else {
            type.name = take().text;
        }
        type.span = {begin, end_ - begin};
        skip_const();
        for (; take("*"); skip_const())
            ++type.pointers;
        return type;
    }

    Expression primary() {
        switch (token_.kind) {
            case TokenKind::kName: {
                if (begins_type()) wrong(fmt::format("'{}' is a type, and no value", token_.text));
                const Token name = take();
                return node(Kind::kName, name, name.span.at, {});
            }
            case TokenKind::kNumber:
            case TokenKind::kCharacter: {
                const Token number = take();
                return node(Kind::kNumber, number, number.span.at, {});
            }
            case TokenKind::kEnd:
                reject_step();
                wrong("a value is missing here");
            case TokenKind::kOperator:
                break;
        }
        reject_step();
        wrong(fmt::format("a value must stand here, not '{}'", token_.text));
    }

    // "count++": two signs, and no value behind them.
    void reject_step() const {
        if (end_ < 2) return;
        const std::string_view signs = text_.substr(end_ - 2, 2);
        if (signs == "++" || signs == "--")
            fail_at(text_, {end_ - 2, 2},
                    fmt::format("a trace changes nothing: there is no {}", signs));
    }

    Expression postfix(Expression value) {
        for (int links = 0;; ++links) {
            if (links == kDeepestExpression) wrong("the expression nests too deep");
            const std::size_t begin = value.span.at;
            std::vector<Expression> of;
            of.push_back(std::move(value));
            if (token_.is("->") || token_.is(".")) {
                const bool arrow = take().text == "->";
                if (token_.kind == TokenKind::kNumber && of.front().kind == Kind::kNumber)
                    wrong("numbers are whole: no digits stand behind a point");
                if (token_.kind != TokenKind::kName) wrong("a member's name is missing here");
                const Token name = take();
                value = node(Kind::kMember, name, begin, std::move(of));
                value.arrow = arrow;
            } else if (token_.is("[")) {
                const Token open = take();
                of.push_back(condition());
                need("]", "'[' before it");
                value = node(Kind::kElement, open, begin, std::move(of));
            } else if (token_.is("(")) {
                wrong("a trace calls no function");
            } else {
                return std::move(of.front());
            }
        }
    }

    std::string_view text_;
    const IsTypedef& is_typedef_;
    Token token_;
    std::size_t end_ = 0;  // of the last word taken
    int depth_ = 0;
};

}  // namespace

Expression parse_expression(std::string_view text, const IsTypedef& is_typedef) {
    return Parser(text, is_typedef).only();
}

std::vector<Item> parse_items(std::string_view text, const IsTypedef& is_typedef) {
    return Parser(text, is_typedef).items();
}

}  // namespace djprobe::loader
