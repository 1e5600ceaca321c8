// SPDX-License-Identifier: GPL-2.0
#include "kernel/site_spec.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "base/error.h"

namespace djprobe::loader {
namespace {

// The kernel's own limit, KSYM_NAME_LEN, less the NUL.
constexpr std::size_t kLongestName = 511;

bool starts_hex(std::string_view text) {
    return text.starts_with("0x") || text.starts_with("0X");
}

std::optional<std::uint64_t> parse_number(std::string_view text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// "fs/read_write.c:470", "read_write.c:vfs_read", "vfs_read:470". No module has such a name.
bool is_source_place(std::string_view symbol) {
    const std::size_t colon = symbol.find(':');
    if (colon == symbol.npos) return false;
    const std::string_view file = symbol.substr(0, colon), line = symbol.substr(colon + 1);
    if (file.find_first_of("*?[") != file.npos) return false;
    return file.find_first_of("/.") != file.npos ||
           (!line.empty() && line.find_first_not_of("0123456789:") == line.npos);
}

}  // namespace

void reject_source_place(std::string_view text) {
    if (!is_source_place(text.substr(0, text.find('+')))) return;
    fail(ExitCode::kUsage,
         "'{0}' is a place in a source file, which 'probeload trace {0}' knows ('probeload lines "
         "FUNC' lists a function's); here write FUNC, FUNC+OFFSET or MODULE:FUNC",
         text);
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
    return starts_hex(text) ? parse_number(text.substr(2), 16) : parse_number(text, 10);
}

std::string SiteSpec::str() const {
    if (symbol.empty()) return fmt::format("{:#x}", address);
    return offset == 0 ? symbol : fmt::format("{}+{:#x}", symbol, offset);
}

std::string SiteSpec::whole_function_advice() const {
    return fmt::format("name it without +{:#x}", offset);
}

SiteSpec parse_function(std::string_view text) {
    const std::size_t plus = text.find('+');
    const std::string_view symbol = text.substr(0, plus);
    const std::size_t colon = symbol.find(':');
    const bool nameless = symbol.empty() || colon == 0 || colon == symbol.size() - 1;
    if (symbol.find(',') != symbol.npos)
        fail(ExitCode::kUsage, "'{}' is not a function, but several: give each one by itself",
             text);
    if (nameless || symbol.find_first_of(" \t\n\r") != symbol.npos) {
        fail(ExitCode::kUsage, "'{}' is not a function: write SYM, SYM+OFFSET or MODULE:SYM", text);
    }

    if (symbol.size() > kLongestName)
        fail(ExitCode::kUsage, "'{}...' is not a function: its name has {} letters, more than {}",
             symbol.substr(0, 32), symbol.size(), kLongestName);
    reject_source_place(text);
    if (starts_hex(text)) {
        fail(ExitCode::kUsage,
             "'{0}' is an address, not a function: give it to attach or explain with --address; "
             "'probeload explain --address {0}' shows its name",
             text);
    }

    SiteSpec site;
    site.symbol = symbol;
    const std::size_t minus = symbol.rfind('-');
    if (!site.is_glob() && minus != symbol.npos && parse_unsigned(symbol.substr(minus + 1))) {
        fail(ExitCode::kUsage,
             "'{}': offsets count from a function's start: write SYM+OFFSET, never '{}'", text,
             symbol.substr(minus));
    }
    if (plus != text.npos) {
        if (site.is_glob()) {
            fail(ExitCode::kUsage,
                 "'{}': functions by a pattern are probed at their entries: leave out '{}'", text,
                 text.substr(plus));
        }
        const auto offset = parse_unsigned(text.substr(plus + 1));
        if (!offset) {
            fail(ExitCode::kUsage,
                 "'{}': the offset '{}' is no number of 64 bits, decimal or 0x-hexadecimal", text,
                 text.substr(plus + 1));
        }
        site.offset = *offset;
    }
    return site;
}

SiteSpec parse_one_function(std::string_view text, std::string_view command,
                            std::string_view of_many) {
    SiteSpec site = parse_function(text);
    if (!site.is_glob()) return site;
    fail(ExitCode::kUsage, "'{}' is a pattern; {} takes one function, {} many", text, command,
         of_many);
}

SiteSpec parse_address(std::string_view text) {
    const auto address = parse_number(starts_hex(text) ? text.substr(2) : text, 16);
    if (!address || *address == 0) {
        fail(ExitCode::kUsage, "'{}' is not an address: write it hexadecimal, as in /proc/kallsyms",
             text);
    }
    SiteSpec site;
    site.address = *address;
    return site;
}

SiteSpec parse_site(std::string_view text) {
    return starts_hex(text) ? parse_address(text) : parse_function(text);
}

}  // namespace djprobe::loader
