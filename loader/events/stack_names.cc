// SPDX-License-Identifier: GPL-2.0
#include "events/stack_names.h"

#include <fmt/core.h>

namespace djprobe::loader {

bool is_kernel(const Frame& frame) {
    return frame.build_id.empty() && frame.address >> 63 != 0;
}

CodePlace StackNames::place_of(const Frame& frame, std::uint32_t process) {
    if (!frame.build_id.empty()) return code_.find(frame.build_id, frame.offset);
    return code_.find(process != 0 ? process : process_, frame.address);
}

std::string StackNames::full(const Frame& frame, std::uint32_t process) {
    if (is_kernel(frame)) return symbolizer_.describe(frame.address);
    const CodePlace place = place_of(frame, process);
    const bool is_known = !place.path.empty() || !place.build_id.empty();
    return is_known ? describe(place) : fmt::format("{:#x}", frame.address);
}

std::string StackNames::function(const Frame& frame, std::uint32_t process) {
    if (is_kernel(frame)) {
        const std::string name = symbolizer_.describe(frame.address);
        return name.substr(0, name.rfind("+0x"));
    }
    const CodePlace place = place_of(frame, process);
    if (!place.function.empty()) return place.function;
    return place.path.empty() ? "[unknown]"
                              : fmt::format("[{}]", place.path.substr(place.path.rfind('/') + 1));
}

}  // namespace djprobe::loader
