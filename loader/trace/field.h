// SPDX-License-Identifier: GPL-2.0
// A member of the event that a trace sends: its declaration, how it is filled, how it is shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/translate.h"

namespace djprobe::loader {

/// The function of the program that copies the task's name.
inline constexpr std::string_view kReadComm = "read_comm";

/// How a member is shown where its type alone does not say it.
enum class Shape {
    kValue,     ///< by its type
    kTime,      ///< nanoseconds: in text as seconds
    kHex,       ///< a number, hexadecimal
    kBytes,     ///< hexadecimal, two digits a byte
    kAddress,   ///< of the internet, 4 or 16 bytes
    kSymbol,    ///< an address of the kernel
    kStack,     ///< addresses up to a 0
    kStackId,   ///< of the map `stacks`
    kFunction,  ///< an address at its beginning, without the offset
};

struct Field {
    std::string name;
    std::string declaration;  ///< "char name[64];"
    std::string fill;         ///< a statement
    Shape shape = Shape::kValue;
};

/// For what is asked for. Its name is the last one in the expression, and differs from those of
/// `others`. Throws Error(kUsage) with a caret.
Field make_field(const Item& item, Translator& translator, const Types& types,
                 std::string_view source, const std::vector<Field>& others);

/// The same for a part of the key that results are kept by: also "comm", "kstack" and "ustack".
Field make_key(const Item& item, Translator& translator, const Types& types,
               std::string_view source, const std::vector<Field>& others);

/// "kstack" or "ustack", as a part of the key.
Field stack_key(const std::string& stack, const std::vector<Field>& others);

/// The columns before: "time", "cpu", "pid", "tid", "uid", "comm"; and "kstack", "ustack".
Field task_field(const std::string& column);

}  // namespace djprobe::loader
