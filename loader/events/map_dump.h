// SPDX-License-Identifier: GPL-2.0
// Maps as results: what a program has counted.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decode/frame.h"

namespace djprobe::loader {

// The analysis takes nlohmann's internal assertions for exceptions.
// NOLINTNEXTLINE(bugprone-exception-escape)
struct MapEntry {
    std::string map;
    std::string key_text;
    std::string value_text;
    nlohmann::ordered_json key;
    nlohmann::ordered_json value;
    std::string chart{};  ///< lines that show more of the value: histograms, frames
};

struct MapDump {
    std::vector<MapEntry> entries;
    /// The map holds more entries than are shown.
    struct LeftOut {
        std::string map;
        std::uint64_t entries;  ///< so many were read and not taken
        bool cut;               ///< and some were not read
    };
    std::vector<LeftOut> left_out;
};

/// Empties what dump_maps() and dump_variables() show: entries of hash and stack maps go, those of
/// arrays and the variables of .bss become 0, but for `lost`. The program may run meanwhile.
void clear_results(const bpf_object* object);

/// Which maps are of interest. Beside events there are scratch buffers, too; stacks and histograms
/// are results always.
enum class MapValues { kAny, kCounters };

/// The entries of the program's own array and hash maps, per-CPU ones included: integers summed
/// over the CPUs, other values as a list of one per CPU. A map with room for more than 16 shows
/// only what is not zero, of a hash map the largest numbers first, and no more than 64. And the
/// traces of its stack maps. What is in a queue or a stack can only be taken out: that is done
/// `at_end`, and before it only the next one is seen.
MapDump dump_maps(const bpf_object* object, MapValues values, bool at_end, FrameNames& names);

}  // namespace djprobe::loader
