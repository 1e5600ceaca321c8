// SPDX-License-Identifier: GPL-2.0
// Small maps as results: what a program that sends no events has counted.
#pragma once

#include <bpf/libbpf.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace djprobe::loader {

// The analysis takes nlohmann's internal assertions for exceptions.
// NOLINTNEXTLINE(bugprone-exception-escape)
struct MapEntry {
    std::string map;
    std::string key_text;
    std::string value_text;
    nlohmann::ordered_json key;
    nlohmann::ordered_json value;
};

/// The entries of the program's own array and hash maps of at most 16 entries, per-CPU ones
/// included: integers summed over the CPUs, other values as a list of one per CPU.
std::vector<MapEntry> dump_small_maps(const bpf_object* object);

}  // namespace djprobe::loader
