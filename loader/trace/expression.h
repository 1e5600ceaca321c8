// SPDX-License-Identifier: GPL-2.0
// An expression of C, as written: names, members, elements, casts, operators and numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/caret.h"

namespace djprobe::loader {

/// "struct file *", "unsigned int", "u32".
struct CastType {
    std::string tag;   ///< struct, union, enum, or "" for a typedef or a basic type
    std::string name;  ///< of basic types all words
    int pointers = 0;
    Span span{};
};

struct Expression {
    enum class Kind {
        kName,
        kNumber,     ///< also a character
        kMember,     ///< of the first child: word is its name
        kElement,    ///< of the first child at the second
        kCast,       ///< of the first child to `cast`
        kUnary,      ///< word is the operator
        kBinary,     ///< the same, of two children
        kCondition,  ///< first ? second : third
    };

    Kind kind = Kind::kName;
    std::string word;
    bool arrow = false;  ///< kMember: by ->, not by a dot
    CastType cast{};
    std::vector<Expression> children{};
    Span span{};  ///< of the whole expression in its text
    Span mark{};  ///< of the word
};

/// How a value is shown: ":x", ":hex 16".
struct Form {
    std::string name;
    std::optional<std::uint32_t> length;
    Span span{};
};

/// One of the values that a trace shows.
struct Item {
    Expression expression;
    std::optional<Form> form;
};

/// Whether a word is a type's name by typedef.
using IsTypedef = std::function<bool(std::string_view)>;

/// Each throws Error(kUsage), with a caret under what is wrong.
Expression parse_expression(std::string_view text, const IsTypedef& is_typedef);
/// "file->f_pos, count:x"
std::vector<Item> parse_items(std::string_view text, const IsTypedef& is_typedef);

/// The expression with all parentheses.
std::string to_text(const Expression& expression);
/// What a number is, also one behind a minus. None of other expressions, and of characters.
std::optional<std::uint64_t> constant(const Expression& expression);

}  // namespace djprobe::loader
