// SPDX-License-Identifier: GPL-2.0
// What of the running kernel is text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kallsyms.h"
#include "kernel/live_modules.h"

namespace djprobe::vm {

using loader::Kallsyms;
using loader::live_modules;
using loader::LiveModule;
using loader::Symbol;

/// A stretch of text and whose it is ("" for the kernel itself).
struct TextRange {
    uint64_t start;
    uint64_t end;
    std::string module;
};

/// The kernel's [_stext, _etext) and the text of each live module but `without`.
///
/// A module's text is taken to end with the page of its last symbol, since no file
/// tells its size. Throws std::runtime_error where kptr_restrict hides the addresses.
std::vector<TextRange> text_ranges(const Kallsyms& symbols, std::string_view without);

/// Where each function of the kernel itself begins, once and in order.
std::vector<uint64_t> kernel_functions(const Kallsyms& symbols);

}  // namespace djprobe::vm
