// SPDX-License-Identifier: GPL-2.0
#include "count/operand.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/plural.h"
#include "kernel/pt_regs.h"

namespace djprobe::loader {
namespace {

// By the C convention: di, si, dx, cx, r8, r9.
constexpr std::array<std::uint8_t, 6> kArguments = {7, 6, 2, 1, 8, 9};

std::optional<Operand> find_register(std::string_view text) {
    for (std::size_t i = 0; i < kPtRegs.size(); ++i) {
        const PtReg& reg = pt_reg_of_instructions(i);
        const auto number = static_cast<std::uint8_t>(i);
        if (text == reg.whole) return Operand{number, 8, false, {}};
        if (text == reg.half) return Operand{number, 4, false, {}};
    }
    return std::nullopt;
}

// "al", "dx", "r8b".
bool is_part_of_register(std::string_view text) {
    constexpr std::array<std::string_view, 20> kParts = {
        "al", "ah", "ax", "bl", "bh", "bx",  "cl", "ch",  "cx",  "dl",
        "dh", "dx", "si", "di", "bp", "sil", "sp", "dil", "bpl", "spl"};
    if (std::ranges::count(kParts, text) != 0) return true;
    return (text.ends_with('b') || text.ends_with('w')) &&
           std::ranges::count(kPtRegs, text.substr(0, text.size() - 1), &PtReg::whole) != 0;
}

// "-0x18" is -24.
std::optional<std::int32_t> parse_displacement(std::string_view text) {
    if (text.empty()) return 0;
    const bool negative = text.starts_with('-');
    const auto value = parse_unsigned(text.substr(negative ? 1 : 0));
    if (!value || *value > INT32_MAX) return std::nullopt;
    const auto distance = static_cast<std::int32_t>(*value);
    return negative ? -distance : distance;
}

// "0x18(%rdi)", as disassemblers write it, and ":4" for the bytes, if they are not 8.
std::optional<Operand> find_memory(std::string_view text) {
    const std::size_t open = text.find("(%"), close = text.find(')');
    if (open == text.npos || close == text.npos || close < open) return std::nullopt;
    const auto base = find_register(text.substr(open + 2, close - open - 2));
    const auto displacement = parse_displacement(text.substr(0, open));
    const std::string_view width = text.substr(close + 1);
    const std::optional<std::uint64_t> bytes = width.empty() ? 8 : parse_unsigned(width.substr(1));
    const bool known = bytes && *bytes <= 8 && std::has_single_bit(*bytes);
    if (!base || base->width != 8 || !displacement || !known ||
        (!width.empty() && !width.starts_with(':')))
        fail(ExitCode::kUsage,
             "'{}': memory is written as in 0x18(%rdi):4: a displacement of 32 bits, a whole "
             "register, and 1, 2, 4 or 8 bytes",
             text);
    return Operand{base->reg, static_cast<std::uint8_t>(*bytes), false, displacement};
}

bool is_entry(const SiteSpec& site) {
    return !site.symbol.empty() && site.offset == 0;
}

// "arg3" is 2.
std::optional<std::size_t> argument_index(std::string_view text) {
    if (text.size() != 4 || !text.starts_with("arg") || text[3] < '1' || text[3] > '6')
        return std::nullopt;
    return static_cast<std::size_t>(text[3] - '1');
}

// What BTF says of the function; none: it does not know it.
auto find_parameters(const SiteSpec& site, Prototypes& prototypes) {
    const std::size_t colon = site.symbol.find(':');
    const std::string module = colon == site.symbol.npos ? "" : site.symbol.substr(0, colon);
    return prototypes.parameters(module, site.symbol.substr(colon + 1));
}

std::vector<Parameter> parameters_of(const SiteSpec& site, std::string_view wanted,
                                     Prototypes& prototypes) {
    auto known = find_parameters(site, prototypes);
    if (!known) {
        fail(ExitCode::kUsage,
             "'{}': the kernel's BTF does not tell the arguments of {}: name a register (edi, rdi) "
             "or arg1 to arg6",
             wanted, site.str());
    }
    return std::move(*known);
}

// What is no name, and the other names of registers; an argument may have the name of one.
[[noreturn]] void fail_without_argument(std::string_view text, const SiteSpec& site,
                                        const std::vector<Parameter>& all) {
    const auto is_of_name = [](unsigned char letter) {
        return letter == '_' || std::isalnum(letter) != 0;
    };
    if (text.empty() || !std::ranges::all_of(text, is_of_name))
        fail(ExitCode::kUsage,
             "'{}': an operand is the name of an argument, arg1 to arg6, a register (edi, rdi) or "
             "memory (0x18(%rdi):4): 'probeload trace' takes expressions",
             text);
    if (text == "retval" || text == "latency")
        fail(ExitCode::kUsage,
             "'{0}' is known when {1} returns: 'probeload trace {1}:return' takes it", text,
             site.str());
    if (is_part_of_register(text))
        fail(ExitCode::kUsage, "'{}': a register is named whole or by its lower half: rdi, edi",
             text);
    std::vector<std::string_view> names;
    std::ranges::transform(all, std::back_inserter(names), &Parameter::name);
    fail(ExitCode::kUsage, "'{}': {} has no such argument: it has {}", text, site.str(),
         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

Operand find_argument(std::string_view text, const SiteSpec& site, Prototypes& prototypes) {
    const std::vector<Parameter> all = parameters_of(site, text, prototypes);
    const auto found = std::ranges::find(all, text, &Parameter::name);
    if (found == all.end()) fail_without_argument(text, site, all);
    const auto index = static_cast<std::size_t>(found - all.begin());
    // A struct may take no register, one or two: then those behind it are elsewhere.
    const bool in_registers =
        index < kArguments.size() &&
        std::all_of(all.begin(), found + 1, [](const Parameter& one) { return one.size != 0; });
    if (!in_registers)
        fail(ExitCode::kUsage, "'{}': this argument of {} is in no known register", text,
             site.str());
    return {kArguments.at(index), found->size, found->is_signed, {}};
}

// Some functions call their third parameter arg2, and most have fewer than six.
void check_known(std::string_view text, std::size_t index, const SiteSpec& site,
                 Prototypes& prototypes) {
    if (site.is_glob() || site.symbol.empty()) return;
    const auto known = find_parameters(site, prototypes);
    if (!known) return;
    // A struct may take two, and "..." any number.
    const bool takes_one_each = std::ranges::all_of(*known, &Parameter::size);
    if (index >= known->size() && takes_one_each)
        fail(ExitCode::kUsage, "'{}': {} has {}", text, site.str(),
             plural(known->size(), "argument"));
    const auto found = std::ranges::find(*known, text, &Parameter::name);
    if (found == known->end() || found == known->begin() + static_cast<std::ptrdiff_t>(index))
        return;
    fail(ExitCode::kUsage, "'{}': {} calls its argument {} so: name its register (edi, rdi)", text,
         site.str(), found - known->begin() + 1);
}

}  // namespace

Operand find_operand(std::string_view text, const SiteSpec& site, Prototypes& prototypes) {
    if (const auto found = find_register(text)) return *found;
    if (const auto found = find_memory(text)) return *found;
    if (text.find("->") != text.npos)
        fail(ExitCode::kUsage,
             "'{}': what a pointer leads to is no operand: 'probeload trace' reads it, in its --if "
             "and --hist",
             text);
    if (!is_entry(site)) {
        fail(ExitCode::kUsage,
             "'{}': arguments are known at the entry of a function only: name a register of {} "
             "(edi, rdi)",
             text, site.str());
    }
    if (const auto index = argument_index(text)) {
        check_known(text, *index, site, prototypes);
        return {kArguments.at(*index), 8, false, {}};
    }
    if (site.is_glob()) {
        fail(ExitCode::kUsage,
             "'{}': the functions like '{}' may have other arguments each: name a register (edi, "
             "rdi) or arg1 to arg6",
             text, site.symbol);
    }
    return find_argument(text, site, prototypes);
}

}  // namespace djprobe::loader
