// SPDX-License-Identifier: GPL-2.0
// Numbers, casts and operators: their text in C, and the types that C gives them.
#include <fmt/format.h>

#include "trace/number.h"
#include "trace/precedence.h"
#include "trace/translate.h"

namespace djprobe::loader {
namespace {

// clang warns where C's order of these operators is often taken for another one.
bool is_often_mistaken(std::string_view sign, int child) {
    if (sign == "||") return child == binds("&&");
    const bool is_bitwise = sign == "&" || sign == "|" || sign == "^";
    return (is_bitwise || sign == "<<" || sign == ">>") && child <= binds("*");
}

std::string operand(const Value& value, std::string_view sign, bool is_right) {
    const int own = binds(sign);
    if (value.binds > own && is_often_mistaken(sign, value.binds)) return "(" + value.text + ")";
    return bound(value, own + (is_right ? 1 : 0));
}

bool is_zero(const Expression& expression) {
    return constant(expression) == std::uint64_t{0};
}

// Why a word that begins with a digit is none.
std::string no_number(const std::string& word) {
    if (parse_number(word + "u")) return fmt::format("'{0}' has no type in C: write {0}u", word);
    const bool is_too_large =
        word.find_first_not_of("0123456789") == std::string::npos && !word.starts_with('0');
    return fmt::format("'{}' is no number {}", word, is_too_large ? "of 64 bits" : "that C knows");
}

bool is_comparison(std::string_view sign) {
    return binds(sign) == binds("==") || binds(sign) == binds("<");
}

}  // namespace

Value Translator::literal(const Expression& expression) {
    const auto number = parse_number(expression.word);
    if (!number) wrong(expression.mark, no_number(expression.word));
    return {types_.number(number->is_wide, number->is_signed), expression.word, kPostfixBinds};
}

Value Translator::cast(const Expression& expression) {
    const CastType& to = expression.cast;
    const auto found = types_.find(to.tag, to.name);
    if (!found)
        wrong(to.span,
              fmt::format("the kernel has no {}{}{}", to.tag, to.tag.empty() ? "" : " ", to.name));
    TypeId type = *found;
    for (int i = 0; i < to.pointers; ++i)
        type = types_.pointer_to(type);
    if (type == 0 || (!types_.is_pointer(type) && !types_.is_integer(type)))
        wrong(to.span, "a cast makes a number or a pointer");
    Value from = number(expression.children.front());
    const bool narrows = types_.is_pointer(from.type) && types_.size(type) < 8;
    if (narrows) from.text = "(unsigned long)" + bound(from, kUnaryBinds);
    need(type);
    return {type, fmt::format("({}){}", types_.name(type), bound(from, kUnaryBinds)), kUnaryBinds};
}

Value Translator::unary(const Expression& expression) {
    const Expression& child = expression.children.front();
    const std::string& sign = expression.word;
    if (sign == "&") return address(expression, value(child));
    Value of = number(child);
    if (sign == "*") {
        if (!types_.is_pointer(of.type) || types_.size(types_.target(of.type)) == 0)
            wrong(expression.mark, fmt::format("`{}` points to nothing that can be read: it is {}",
                                               to_text(child), types_.name(of.type)));
        of.type = types_.target(of.type);
        need(of.type);
        of.in_memory = true;
        return of;
    }
    if (sign != "!" && !types_.is_integer(of.type))
        wrong(expression.mark, fmt::format("`{}` is no number", to_text(child)));
    of.type = sign == "!" ? types_.number(false, true) : promoted(of.type);
    // Two signs in a row would be another operator.
    of.text = sign + (of.text.starts_with(sign) ? "(" + of.text + ")" : bound(of, kUnaryBinds));
    of.binds = kUnaryBinds;
    return of;
}

TypeId Translator::promoted(TypeId type) {
    if (types_.size(type) < 4) return types_.number(false, true);
    return types_.number(types_.size(type) == 8, types_.is_signed(type));
}

TypeId Translator::common(TypeId left, TypeId right) {
    const bool left_is_wide = types_.size(left) == 8, right_is_wide = types_.size(right) == 8;
    if (left_is_wide != right_is_wide) return promoted(left_is_wide ? left : right);
    const TypeId a = promoted(left), b = promoted(right);
    return types_.number(left_is_wide, types_.is_signed(a) && types_.is_signed(b));
}

Value Translator::compare(const std::string& sign, Value left, Value right) {
    // C compares no pointers with numbers, or of two types, without a warning.
    const auto as_number = [this](Value& value) {
        if (!types_.is_pointer(value.type)) return;
        value = {types_.number(true, false), "(unsigned long)" + bound(value, kUnaryBinds),
                 kUnaryBinds};
    };
    const bool null = right.text == "0";
    if (!null) {
        as_number(left);
        as_number(right);
    }
    return {types_.number(false, true),
            fmt::format("{} {} {}", operand(left, sign, false), sign, operand(right, sign, true)),
            binds(sign)};
}

Value Translator::binary(const Expression& expression) {
    const std::string& sign = expression.word;
    Value left = number(expression.children[0]), right = number(expression.children[1]);
    if (is_comparison(sign)) return compare(sign, std::move(left), std::move(right));
    Value result{
        0, fmt::format("{} {} {}", operand(left, sign, false), sign, operand(right, sign, true)),
        binds(sign)};
    const bool left_is_pointer = types_.is_pointer(left.type);
    const bool right_is_pointer = types_.is_pointer(right.type);
    if (sign == "&&" || sign == "||") {
        result.type = types_.number(false, true);
    } else if (left_is_pointer && !right_is_pointer && (sign == "+" || sign == "-")) {
        result.type = left.type;
        needs_.types.insert(types_.target(left.type));
    } else if (left_is_pointer || right_is_pointer) {
        wrong(expression.mark, fmt::format("a pointer is no number for {}: cast it to (unsigned "
                                           "long)",
                                           sign));
    } else if (sign == "<<" || sign == ">>") {
        result.type = promoted(left.type);
    } else {
        result.type = common(left.type, right.type);
    }
    // What C leaves open clang would warn of, in a text that the user has not written.
    const auto by = constant(expression.children[1]);
    const std::uint64_t bits = std::uint64_t{8} * types_.size(result.type);
    if ((sign == "<<" || sign == ">>") && by && *by >= bits)
        wrong(expression.children[1].span,
              fmt::format("`{}` has {} bits: a shift of it is by 0 to {}",
                          to_text(expression.children[0]), bits, bits - 1));
    const bool divides = sign == "/" || sign == "%";
    if (divides && is_zero(expression.children[1]))
        wrong(expression.children[1].span, "BPF divides nothing by 0");
    if (divides && types_.is_signed(result.type))
        wrong(expression.mark,
              "BPF divides only numbers without a sign: cast one to (unsigned long)");
    return result;
}

Value Translator::condition(const Expression& expression) {
    const Value test = number(expression.children[0]);
    const Value yes = number(expression.children[1]), no = number(expression.children[2]);
    const bool pointers = types_.is_pointer(yes.type) && types_.is_pointer(no.type);
    if (!pointers && (types_.is_pointer(yes.type) || types_.is_pointer(no.type)))
        wrong(expression.mark, "one of the two is a pointer, the other is a number");
    return {pointers ? yes.type : common(yes.type, no.type),
            fmt::format("{} ? {} : {}", bound(test, kConditionBinds + 1), yes.text,
                        bound(no, kConditionBinds)),
            kConditionBinds};
}

}  // namespace djprobe::loader
