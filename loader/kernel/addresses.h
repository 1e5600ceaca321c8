// SPDX-License-Identifier: GPL-2.0
// Places that are named by numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/kallsyms.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {

/// Of a site that is an address, or counted from the kernel's first byte. None: it is another one,
/// or the kernel hides its addresses.
std::optional<std::uint64_t> address_of(const SiteSpec& site, const Kallsyms& kallsyms);

}  // namespace djprobe::loader
