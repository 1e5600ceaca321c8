// SPDX-License-Identifier: GPL-2.0
// What `probeload doctor` has found out about one thing that probeload needs.
#pragma once

#include <string>
#include <vector>

namespace djprobe::loader::doctor {

enum class Health {
    Ok,
    Note,  ///< attaching works without it
    Bad,   ///< attaching fails until it is mended
};

struct Finding {
    std::string check;
    Health health;
    std::string text;
    std::string command = {};  ///< it mends what is not Ok; empty: no command does
};

using Findings = std::vector<Finding>;

}  // namespace djprobe::loader::doctor
