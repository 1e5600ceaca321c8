// SPDX-License-Identifier: GPL-2.0
// The running kernel's functions and names, as arch/x86/analysis/closure.h and linux_names/roots.h
// ask for them.
#pragma once

#include "function_copy.h"

namespace djprobe::kmod {

/// The Kernel that those templates take. Each user derives a type of its own and instantiates the
/// template with that: the module's build has no room for a function that several objects hold.
class KernelFunctions {
  public:
    KernelFunctions();

    /// False: out of memory.
    bool is_ready() const { return static_cast<bool>(name_); }

    bool function_at(u64 address, Code& out) const;
    /// False as well for init text, which the kernel has freed.
    bool start_of(u64 address, u64& start) const;
    size_t addresses_of(const char* name, Span<u64> out) const;
    const char* name_of(u64 function) const;

  private:
    mutable FunctionCopy copy_;
    Array<char> name_;
};

}  // namespace djprobe::kmod
