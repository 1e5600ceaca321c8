// SPDX-License-Identifier: GPL-2.0
// An expression as C for a BPF program: what lies in the kernel's memory is read by CO-RE.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/expression.h"
#include "trace/types.h"

namespace djprobe::loader {

/// What an expression may name.
struct Name {
    std::string name;  ///< as the user writes it
    std::string text;  ///< its value in the program
    TypeId type;
    bool is_argument = false;
    bool in_memory = false;  ///< the text is its address
    std::string none{};      ///< why it has no value
};

struct Scope {
    std::string place;            ///< for messages: "vfs_read"
    std::set<std::string> taken;  ///< variables that the program has besides
    std::vector<Name> names;
    std::string unknown{};  ///< of a function without types: the message for other names
    bool at_returns = false;
    std::string no_result{};               ///< why there is no `retval`: "returns nothing"
    std::vector<std::string> arguments{};  ///< in their order, also what cannot be named
    std::vector<std::string> gone{};       ///< arguments, where the place is no entry
};

/// A variable of the program.
struct Local {
    std::string declaration;  ///< "struct file *file"
    std::string variable;     ///< "file"
    std::string value;        ///< "(struct file *)PT_REGS_PARM1(ctx)"
};

/// What the program's text asks for.
struct Needs {
    std::set<TypeId> types;       ///< whose definitions it needs
    std::set<std::string> names;  ///< of the scope
    std::vector<Local> locals{};  ///< what was read on the way, in this order
    bool reads = false;           ///< the macro READ()
    bool comm = false;            ///< the function kReadComm
};

/// Members of a struct behind a pointer: "f_path.dentry", "bits[0]".
struct Step {
    TypeId pointer;
    std::string members;
};

/// A value in the program: in a variable, or still in memory.
struct Value {
    TypeId type = 0;
    std::string text;  ///< the value; of one in memory the pointer that its path begins at
    int binds = 0;     ///< how much its last operator binds
    bool in_memory = false;
    bool is_bitfield = false;
    std::vector<Step> path{};  ///< each behind the one before

    /// What libbpf's macros take: "file, f_path.dentry, d_name".
    [[nodiscard]] std::string steps() const;
};

class Translator {
  public:
    /// `source`: the expression's text, for messages.
    Translator(Types& types, const Scope& scope, std::string_view source, Needs& needs)
        : types_(types), scope_(scope), source_(source), needs_(needs) {}

    /// Each throws Error(kUsage) with a caret. As it lies there:
    Value value(const Expression& expression);
    /// Of value(): a number or a pointer, read. An array is the pointer to its first element.
    Value read(const Expression& expression, Value value);
    Value number(const Expression& expression);  ///< both
    /// The pointer to a value in memory.
    Value address(const Expression& expression, const Value& value);
    [[nodiscard]] bool is_argument(std::string_view name) const;
    /// What the value is read into needs its type's definition.
    void need(TypeId type);

  private:
    Value name(const Expression& expression);
    Value literal(const Expression& expression);
    Value member(const Expression& expression);
    Value member_behind(const Expression& expression, Value pointer, const Member& member);
    Value member_at(const Value& whole, TypeId composite, const std::string& name);
    Value beginning(const Value& pointer, TypeId composite, const std::string& name);
    Value element(const Expression& expression);
    void check_element(const Expression& expression, TypeId array) const;
    Value cast(const Expression& expression);
    Value unary(const Expression& expression);
    Value binary(const Expression& expression);
    Value condition(const Expression& expression);
    Value compare(const std::string& sign, Value left, Value right);
    Value in_variable(const Value& value, TypeId type, const std::string& wanted);
    Value last_base(const Value& value);
    std::vector<std::string> with_nested(TypeId composite, std::vector<std::string> names);
    Member find_member(const Expression& expression, TypeId composite);
    TypeId common(TypeId left, TypeId right);
    TypeId promoted(TypeId type);
    [[noreturn]] void wrong(Span part, const std::string& message) const;

    Types& types_;
    const Scope& scope_;
    std::string_view source_;
    Needs& needs_;
};

/// The text, in parentheses where it binds less than that.
std::string bound(const Value& value, int binds);

}  // namespace djprobe::loader
