// SPDX-License-Identifier: GPL-2.0
// Functions by a pattern of a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/kallsyms.h"

namespace djprobe::loader {

/// Whether it is for functions of modules only: "MODULE:GLOB".
bool names_module(const std::string& pattern);

/// Whether a function's name fits the pattern; `module` is "" for the kernel itself.
bool is_like(const std::string& pattern, std::string_view module, std::string_view name);

/// For messages about a name or a pattern that nothing fits: "no module xfs is loaded: modprobe
/// xfs", how a place of bpftrace's is written here, or "" where that is not why.
std::string missing_module(const Kallsyms& kallsyms, const std::string& pattern);
/// Throws Error(kNoSuchSite): functions_like() has found none, and why, as far as that is known.
[[noreturn]] void fail_none_like(const Kallsyms& kallsyms, const std::string& pattern);

/// The functions whose name fits the pattern ("GLOB" for the kernel and its modules, "MODULE:GLOB"
/// for some), one for each address, by address; all, where the kernel
/// hides the addresses. What only looks like a function is left out: the
/// padding before one (__pfx_NAME), the part of one that lies elsewhere (NAME.cold), BPF programs.
std::vector<Symbol> functions_like(const Kallsyms& kallsyms, const std::string& pattern);

}  // namespace djprobe::loader
