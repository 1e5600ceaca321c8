// SPDX-License-Identifier: GPL-2.0
// What a run says at its end.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "run/ledger.h"

namespace djprobe::loader {

/// "14 probes by djprobe: 12 by jump, 2 by int3 (short-region 2); at returns 3 exact, 1 by shadow;
/// hits 100, missed 0" and, where the kernel has placed some, "2 probes by the kernel: one-task 2".
std::string run_text(const RunSums& sums);
nlohmann::ordered_json run_json(const RunSums& sums);

}  // namespace djprobe::loader
