// SPDX-License-Identifier: GPL-2.0
// What the user may write for a place in the kernel: [MODULE:]SYM[+OFF], a glob, or 0xADDRESS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace djprobe::loader {

/// The kernel's first byte.
constexpr std::string_view kTextSymbol = "_text";

/// A place as the user asks for it. The module decides whether it exists.
struct SiteSpec {
    std::string symbol;  ///< "NAME" or "MODULE:NAME"; empty: `address` counts
    std::uint64_t offset = 0;
    std::uint64_t address = 0;

    /// True for a pattern that stands for functions, not for one.
    [[nodiscard]] bool is_glob() const { return symbol.find_first_of("*?[") != symbol.npos; }
    /// "_text+OFFSET" may reach any function of the kernel, as perf probe writes it.
    [[nodiscard]] bool is_counted_from_text() const { return symbol == kTextSymbol && offset != 0; }
    /// "name it without +0x9": what to do where only a whole function serves.
    [[nodiscard]] std::string whole_function_advice() const;
    bool operator==(const SiteSpec&) const = default;
    /// As the user would write it.
    [[nodiscard]] std::string str() const;
};

/// Parses "vfs_read", "vfs_read+9", "ext4:ext4_readdir+0x1c", "vfs_*". Throws Error(kUsage).
SiteSpec parse_function(std::string_view text);
/// Throws Error(kUsage) for FILE:LINE and the like, which looks like a module's function.
void reject_source_place(std::string_view text);
/// As parse_function(), but no pattern, which `command` has no use for; `of_many` has.
SiteSpec parse_one_function(std::string_view text, std::string_view command,
                            std::string_view of_many);
/// Parses "0xffffffff812c4b10"; always hexadecimal. Throws Error(kUsage).
SiteSpec parse_address(std::string_view text);

/// The one or the other: an address begins with 0x.
SiteSpec parse_site(std::string_view text);

/// Decimal, or hexadecimal with 0x; nothing for what is neither, or has more than 64 bits.
std::optional<std::uint64_t> parse_unsigned(std::string_view text);

}  // namespace djprobe::loader
