// SPDX-License-Identifier: GPL-2.0
// Global variables as results.
#pragma once

#include <bpf/libbpf.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace djprobe::loader {

// The analysis takes nlohmann's internal assertions for exceptions.
// NOLINTNEXTLINE(bugprone-exception-escape)
struct Variable {
    std::string name;
    std::string text;
    std::string chart;  ///< its histograms; "" if it has none
    nlohmann::ordered_json value;
};

/// What the program has written: variables in .bss and .data that are not zero, but for `lost`,
/// which the loss tells.
std::vector<Variable> dump_variables(const bpf_object* object);

}  // namespace djprobe::loader
