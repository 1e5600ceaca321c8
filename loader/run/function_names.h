// SPDX-License-Identifier: GPL-2.0
// Addresses of the kernel's functions, for requests that name hundreds: the module looks up each
// name by itself, which takes the kernel milliseconds.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "kernel/kallsyms.h"
#include "kernel/site_spec.h"
#include "run/head_start.h"

namespace djprobe::loader {

class FunctionNames {
  public:
    explicit FunctionNames(HeadStart& head_start) : head_start_(head_start) {}

    /// The place by its address, where its name is that of one function of the core kernel; else as
    /// it is, so that the module looks.
    SiteSpec by_address(const SiteSpec& site);
    /// The same for requests that name one place each: only once there are many of these is it
    /// worth reading all names. Offsets count, too.
    SiteSpec soon_by_address(const SiteSpec& site);
    /// Whether the core kernel has a function of this name.
    bool has(std::string_view name);
    /// Where the function of this address begins; the address itself where none is known.
    std::uint64_t start_of(std::uint64_t address);
    /// Whether a function begins at the address.
    bool is_start(std::uint64_t address);

  private:
    void read();

    HeadStart& head_start_;
    unsigned asked_ = 0;
    const Kallsyms* kallsyms_ = nullptr;
    std::unordered_map<std::string_view, std::uint64_t> core_;  // 0: of several
};

}  // namespace djprobe::loader
