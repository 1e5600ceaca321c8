// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/data_location.h"

#include <fmt/format.h>

namespace djprobe::loader {
namespace {

bool is_between(const DwarfFile& debug, std::uint64_t address, const char* begin, const char* end) {
    const auto from = debug.address_of(begin), to = debug.address_of(end);
    return from && to && address >= *from && address < *to;
}

}  // namespace

Location data_location(const DwarfFile& debug, std::uint64_t address) {
    const auto text = debug.address_of("_text");
    if (!text) return no_location("it is in the module's data, and not known where");
    // Of these a copy is there for each CPU, and their addresses begin at 0.
    if (address < *text) return no_location("each CPU has one of its own");
    if (is_between(debug, address, "__per_cpu_start", "__per_cpu_end"))
        return no_location("each CPU has one of its own");
    if (is_between(debug, address, "__init_begin", "__init_end"))
        return no_location("it is gone after boot");
    Location location{Location::Kind::kMemory,
                      fmt::format("(unsigned long)&_text + {:#x}", address - *text)};
    location.has_text_symbol = true;
    return location;
}

}  // namespace djprobe::loader
