// SPDX-License-Identifier: GPL-2.0
// Why does nobody listen at an address? The server's library does not say.
#pragma once

#include <string>

namespace djprobe::loader {

/// The errno that keeps this process from listening at "IP:PORT" as parse_metrics_address() gives
/// it; 0 where nothing does, now.
int why_not(const std::string& address);

}  // namespace djprobe::loader
