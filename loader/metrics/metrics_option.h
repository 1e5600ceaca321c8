// SPDX-License-Identifier: GPL-2.0
// Where `--metrics [ADDR:]PORT` listens.
#pragma once

#include <string>
#include <string_view>

namespace djprobe::loader {

/// "127.0.0.1:9435" for "9435": numbers of the kernel are for this machine, unless the user says
/// otherwise. An IPv6 address is in brackets. Throws Error(kUsage).
std::string parse_metrics_address(std::string_view text);

}  // namespace djprobe::loader
