// SPDX-License-Identifier: GPL-2.0
// How counts are shown that may be unknown.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "blocks/flow.h"

namespace djprobe::loader {

/// "?" where it is not known.
std::string count_text(const Count& count);
/// "####": so many eighths of the highest count, at least one of what ran.
std::string count_bar(const Count& count, std::uint64_t most);
/// null where it is not known.
nlohmann::ordered_json count_json(const Count& count);
/// The object as a line; a name's bytes that are no UTF-8 are replaced.
std::string json_line(const nlohmann::ordered_json& json);

}  // namespace djprobe::loader
