// SPDX-License-Identifier: GPL-2.0
#include "trace/hints.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/pt_regs.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kArgument = "arg";

// Of "vfs_read:+17", "vfs_read+0x2b"; a line of a file may be in many.
std::string_view function_of(std::string_view place) {
    const std::size_t plus = place.find('+');
    if (plus == place.npos) return place.find('.') == place.npos ? place : "FUNC";
    place = place.substr(0, plus);
    if (place.ends_with(':')) place.remove_suffix(1);
    return place == kTextSymbol ? "FUNC" : place;
}

std::string hint_for_result(std::string_view word, const Scope& scope) {
    if (!scope.at_returns)
        return fmt::format("`{}` is known when the function returns: trace {}:return", word,
                           function_of(scope.place));
    if (scope.no_result.empty()) return "";
    return fmt::format("{} {}", scope.place, scope.no_result);
}

// "arg3", as by a register.
std::string hint_for_number(std::string_view word, const Scope& scope) {
    const bool is_number =
        word.size() == kArgument.size() + 1 && word.back() >= '1' && word.back() <= '6';
    if (!is_number || !word.starts_with(kArgument)) return "";
    const auto number = static_cast<std::size_t>(word.back() - '0');
    if (number > scope.arguments.size()) return "";
    return fmt::format("arguments have names here: {} is `{}`", word, scope.arguments[number - 1]);
}

bool is_macro(std::string_view word) {
    const bool has_letter = std::ranges::any_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
    return word.size() > 1 && has_letter &&
           std::ranges::none_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

std::string hint_for(std::string_view word, const Scope& scope) {
    if (word == "comm")
        return "`comm` is no number: it is a column (--columns), a key (--count-by comm, --by "
               "comm), "
               "and --comm NAME takes the tasks of one name";
    if (word == "kstack" || word == "ustack")
        return fmt::format("stacks are shown by --{0}, and counted by --count-by {0}", word);
    if (word == "retval" || word == "latency") return hint_for_result(word, scope);
    if (std::ranges::find(scope.gone, word) != scope.gone.end())
        return fmt::format(
            "`{}` is known where the function begins: what holds it then may hold something else "
            "at {}: name a register (rdi, edi), or where debug information is that tells "
            "(--debuginfo)",
            word, scope.place);
    if (scope.at_returns && names_pt_reg(word))
        return fmt::format(
            "registers are not named at a return: `retval` is, and the arguments as they were at "
            "the entry; trace {}+OFFSET takes registers",
            scope.place);
    if (word == "NULL") return "NULL is a macro: write 0";
    if (is_macro(word))
        return fmt::format(
            "`{}` is no constant of the kernel's enums, and macros are not known: write its value",
            word);
    return hint_for_number(word, scope);
}

}  // namespace djprobe::loader
