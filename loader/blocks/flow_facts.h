// SPDX-License-Identifier: GPL-2.0
// What a decoded kernel knows of where control goes in one of its functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "blocks/flow_graph.h"
#include "survey/text_map.h"

namespace djprobe::loader {

/// In the name of the part of a function that the compiler has moved elsewhere.
inline constexpr std::string_view kColdPart = ".cold";

/// Of a function and the parts that it jumps to. The facts view into the map's image. A refusal: it
/// cannot be decoded, and only its body is among the parts.
Refusal find_flow_facts(const TextMap& map, std::size_t function, FlowFacts& facts);

}  // namespace djprobe::loader
