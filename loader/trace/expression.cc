// SPDX-License-Identifier: GPL-2.0
#include "trace/expression.h"

#include <fmt/format.h>

#include "trace/number.h"

namespace djprobe::loader {
namespace {

using Kind = Expression::Kind;

std::string to_text(const CastType& type) {
    return (type.tag.empty() ? "" : type.tag + " ") + type.name +
           (type.pointers == 0 ? ""
                               : " " + std::string(static_cast<std::size_t>(type.pointers), '*'));
}

}  // namespace

std::string to_text(const Expression& expression) {
    const auto child = [&](std::size_t i) { return to_text(expression.children[i]); };
    switch (expression.kind) {
        case Kind::kName:
        case Kind::kNumber:
            return expression.word;
        case Kind::kMember:
            return child(0) + (expression.arrow ? "->" : ".") + expression.word;
        case Kind::kElement:
            return fmt::format("{}[{}]", child(0), child(1));
        case Kind::kCast:
            return fmt::format("(({}){})", to_text(expression.cast), child(0));
        case Kind::kUnary:
            return fmt::format("({}{})", expression.word, child(0));
        case Kind::kBinary:
            return fmt::format("({} {} {})", child(0), expression.word, child(1));
        case Kind::kCondition:
            return fmt::format("({} ? {} : {})", child(0), child(1), child(2));
    }
    return "";
}

std::optional<std::uint64_t> constant(const Expression& expression) {
    if (expression.kind == Expression::Kind::kUnary && expression.word == "-") {
        const auto of = constant(expression.children.front());
        return of ? std::optional(0 - *of) : std::nullopt;
    }
    const bool is_digits =
        expression.kind == Expression::Kind::kNumber && !expression.word.starts_with('\'');
    const auto number = is_digits ? parse_number(expression.word) : std::nullopt;
    return number ? std::optional(number->value) : std::nullopt;
}

}  // namespace djprobe::loader
