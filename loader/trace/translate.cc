// SPDX-License-Identifier: GPL-2.0
#include "trace/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "trace/hints.h"
#include "trace/precedence.h"
#include "trace/suggest.h"

namespace djprobe::loader {
namespace {

using Kind = Expression::Kind;

// libbpf's macros take so many members.
constexpr std::size_t kLongestPath = 8;

bool is_variable(const std::string& text) {
    return std::ranges::all_of(text, [](unsigned char letter) {
        return letter == '_' || (letter >= '0' && letter <= '9') ||
               (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    });
}

// "f_path.dentry" ends in "dentry", "bits[0]" in "bits".
std::string last_word(const std::string& path) {
    const std::string name = path.substr(0, path.find('['));
    return name.substr(name.rfind('.') + 1);
}

// Of the variable for what the expression reads.
std::string last_name(const Expression& expression) {
    if (expression.kind == Kind::kName || expression.kind == Kind::kMember) return expression.word;
    return expression.children.empty() ? "pointer" : last_name(expression.children.front());
}

}  // namespace

std::string Value::steps() const {
    std::string steps = text;
    for (const Step& step : path)
        steps += ", " + step.members;
    return steps;
}

std::string bound(const Value& value, int binds) {
    return value.binds < binds ? "(" + value.text + ")" : value.text;
}

// libbpf's macros read in one go: what they begin at is a variable.
Value Translator::in_variable(const Value& value, TypeId type, const std::string& wanted) {
    const auto is_taken = [this](const std::string& name) {
        return scope_.taken.contains(name) ||
               std::ranges::find(scope_.names, name, &Name::text) != scope_.names.end() ||
               std::ranges::find(needs_.locals, name, &Local::variable) != needs_.locals.end();
    };
    std::string name = wanted;
    for (int i = 2; is_taken(name); ++i)
        name = fmt::format("{}_{}", wanted, i);
    needs_.locals.push_back({types_.declare(type, name), name, value.text});
    return {type, name, kPostfixBinds};
}

// The pointer to the struct that holds the last members.
Value Translator::last_base(const Value& value) {
    if (value.path.size() == 1) return {value.path.back().pointer, value.text, value.binds};
    Value base = value;
    base.path.pop_back();
    const std::string name = last_word(base.path.back().members);
    base.text = fmt::format("BPF_CORE_READ({})", base.steps());
    return in_variable(base, value.path.back().pointer, name);
}

void Translator::wrong(Span part, const std::string& message) const {
    fail_at(source_, part, message);
}

// Behind pointers and arrays. A struct that is only pointed to needs none, but a typedef does.
void Translator::need(TypeId type) {
    bool pointed = false;
    while (type != 0) {
        const btf_type& its = *btf__type_by_id(&types_.all(), type);
        if (btf_is_ptr(&its)) pointed = true;
        const bool is_named = its.name_off != 0 && !btf_is_mod(&its);
        if (is_named && !(pointed && btf_is_composite(&its))) needs_.types.insert(type);
        if (is_named || btf_is_composite(&its) || btf_is_any_enum(&its)) return;
        type = btf_is_array(&its) ? btf_array(&its)->type : its.type;
    }
}

bool Translator::is_argument(std::string_view name) const {
    return std::ranges::any_of(
        scope_.names, [&](const Name& one) { return one.is_argument && one.name == name; });
}

Value Translator::value(const Expression& expression) {
    switch (expression.kind) {
        case Kind::kName:
            return name(expression);
        case Kind::kNumber:
            return literal(expression);
        case Kind::kMember:
            return member(expression);
        case Kind::kElement:
            return element(expression);
        case Kind::kCast:
            return cast(expression);
        case Kind::kUnary:
            return unary(expression);
        case Kind::kBinary:
            return binary(expression);
        case Kind::kCondition:
            return condition(expression);
    }
    return {};
}

Value Translator::number(const Expression& expression) {
    return read(expression, value(expression));
}

Value Translator::name(const Expression& expression) {
    const auto found = std::ranges::find(scope_.names, expression.word, &Name::name);
    if (found != scope_.names.end()) {
        if (!found->none.empty()) wrong(expression.mark, found->none);
        needs_.names.insert(found->name);
        need(found->type);
        if (found->in_memory) return {found->type, found->text, kPostfixBinds, true};
        return {found->type, found->text, found->text.back() == ')' ? kUnaryBinds : kPostfixBinds};
    }
    if (const auto type = types_.enum_with(expression.word)) {
        needs_.types.insert(*type);
        return {types_.named_number(*type), expression.word, kPostfixBinds};
    }
    if (const std::string hint = hint_for(expression.word, scope_); !hint.empty())
        wrong(expression.mark, hint);
    if (!scope_.unknown.empty()) fail(ExitCode::kNoSuchSite, "{}", scope_.unknown);
    std::vector<std::string> arguments;
    for (const Name& name : scope_.names)
        if (name.is_argument) arguments.push_back(name.name);
    wrong(expression.mark, fmt::format("{} has no argument `{}`{}", scope_.place, expression.word,
                                       suggest(expression.word, arguments)));
}

// A macro may stand for a member of a member: sk_daddr for __sk_common.skc_daddr.
std::vector<std::string> Translator::with_nested(TypeId composite, std::vector<std::string> names) {
    for (std::size_t i = 0, own = names.size(); i < own; ++i) {
        const TypeId type = types_.member(composite, names[i])->type;
        if (!types_.is_composite(type)) continue;
        for (const std::string& inner : types_.member_names(type))
            names.push_back(names[i] + "." + inner);
    }
    return names;
}

Member Translator::find_member(const Expression& expression, TypeId composite) {
    if (const auto member = types_.member(composite, expression.word)) return *member;
    const std::vector<std::string> names = types_.member_names(composite);
    const std::string type = types_.name(composite);
    if (names.empty())
        wrong(expression.mark, fmt::format("the kernel's types do not tell what is in {}", type));
    wrong(expression.mark, fmt::format("{} has no member `{}`{}", type, expression.word,
                                       suggest(expression.word, with_nested(composite, names))));
}

Value Translator::member(const Expression& expression) {
    const Expression& whole = expression.children.front();
    Value of = value(whole);
    const bool is_pointer = types_.is_pointer(of.type);
    const TypeId composite = is_pointer ? types_.target(of.type) : of.type;
    if (composite == 0 || !types_.is_composite(composite))
        wrong(expression.mark,
              fmt::format("`{}` is no struct: it is {}", to_text(whole), types_.name(of.type)));
    if (is_pointer != expression.arrow)
        wrong(expression.mark, fmt::format("`{}` is {}: write {}{}", to_text(whole),
                                           is_pointer ? "a pointer" : "no pointer",
                                           is_pointer ? "->" : ".", expression.word));
    const Member member = find_member(expression, composite);
    needs_.types.insert(composite);
    if (is_pointer) return member_behind(expression, std::move(of), member);
    if (of.path.empty())
        of = member_at(of, composite, expression.word);
    else
        of.path.back().members += "." + expression.word;
    of.type = member.type;
    of.is_bitfield = member.is_bitfield;
    return of;
}

Value Translator::member_behind(const Expression& expression, Value pointer, const Member& member) {
    const TypeId composite = types_.target(pointer.type);
    const bool is_const = types_.is_const(composite);
    const bool follows = pointer.in_memory && !pointer.path.empty() && !is_const &&
                         pointer.path.size() < kLongestPath;
    if (!follows) {
        pointer = read(expression.children.front(), std::move(pointer));
        pointer = beginning(pointer, composite, last_name(expression.children.front()));
    }
    pointer.path.push_back({pointer.type, expression.word});
    pointer.in_memory = true;
    pointer.type = member.type;
    pointer.is_bitfield = member.is_bitfield;
    return pointer;
}

// Of a struct that a pointer leads to without a member: "*p", "p[1]".
Value Translator::member_at(const Value& whole, TypeId composite, const std::string& name) {
    Value pointer{types_.pointer_to(composite), whole.text, whole.binds};
    pointer = beginning(pointer, composite, name);
    pointer.in_memory = true;
    pointer.path.push_back({pointer.type, name});
    return pointer;
}

// A path begins at a variable, and at no const one: what the macros read into would be const, too.
Value Translator::beginning(const Value& pointer, TypeId composite, const std::string& name) {
    const bool is_const = types_.is_const(composite);
    if (!is_const && is_variable(pointer.text)) return pointer;
    Value plain = pointer;
    plain.type = types_.pointer_to(types_.unqualified(composite));
    if (is_const)
        plain.text = fmt::format("({}){}", types_.name(plain.type), bound(pointer, kUnaryBinds));
    return in_variable(plain, plain.type, name);
}

// libbpf takes no other element of an array that has a size.
void Translator::check_element(const Expression& expression, TypeId array) const {
    const std::uint32_t count = types_.elements(array);
    const auto index = constant(expression.children[1]);
    if (count != 0 && index && *index >= count)
        wrong(expression.children[1].span, fmt::format("`{}` has the elements 0 to {}",
                                                       to_text(expression.children[0]), count - 1));
}

Value Translator::element(const Expression& expression) {
    const Expression& whole = expression.children.front();
    Value index = number(expression.children[1]);
    if (!types_.is_integer(index.type))
        wrong(expression.children[1].span, "an element's number is an integer");
    Value of = value(whole);
    if (of.in_memory && !of.path.empty() && types_.is_array(of.type)) {
        check_element(expression, of.type);
        if (index.text.find('(') != std::string::npos)
            index = in_variable(index, index.type, "index");
        of.path.back().members += "[" + index.text + "]";
        of.type = types_.target(of.type);
        return of;
    }
    of = read(whole, std::move(of));
    if (!types_.is_pointer(of.type) || types_.size(types_.target(of.type)) == 0)
        wrong(expression.mark,
              fmt::format("`{}` has no elements: it is {}", to_text(whole), types_.name(of.type)));
    const TypeId type = types_.target(of.type);
    needs_.types.insert(type);
    return {type, fmt::format("({} + {})", bound(of, binds("+")), bound(index, binds("+") + 1)),
            kPostfixBinds, true};
}

Value Translator::address(const Expression& expression, const Value& value) {
    if (!value.in_memory || value.is_bitfield)
        wrong(expression.mark, "only what lies in the kernel's memory has an address");
    const TypeId type = types_.pointer_to(value.type);
    if (value.path.empty()) return {type, value.text, value.binds};
    return {
        type,
        fmt::format("&{}->{}", bound(last_base(value), kPostfixBinds), value.path.back().members),
        kUnaryBinds};
}

Value Translator::read(const Expression& expression, Value value) {
    if (!value.in_memory) return value;
    if (types_.is_array(value.type)) {
        Value first = address(expression, value);
        first.type = types_.pointer_to(types_.target(value.type));
        first.text = value.path.empty() ? "*" + bound(first, kUnaryBinds) : first.text + "[0]";
        first.binds = kUnaryBinds;
        return first;
    }
    if (types_.is_composite(value.type) || value.type == 0)
        wrong(expression.span,
              fmt::format("{} is no number: name one of its members", types_.name(value.type)));
    need(value.type);
    const TypeId type = types_.unqualified(value.type);
    if (value.is_bitfield)
        return {type,
                fmt::format("BPF_CORE_READ_BITFIELD_PROBED({}, {})", last_base(value).text,
                            value.path.back().members),
                kPostfixBinds};
    if (!value.path.empty())
        return {type, fmt::format("BPF_CORE_READ({})", value.steps()), kPostfixBinds};
    needs_.reads = true;
    return {type, fmt::format("READ({}, {})", types_.name(type), value.text), kPostfixBinds};
}

}  // namespace djprobe::loader
