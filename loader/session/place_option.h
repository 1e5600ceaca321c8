// SPDX-License-Identifier: GPL-2.0
// Where the command line puts programs: --at PROG=SITE.
#pragma once

#include <string>
#include <vector>

#include "object/program.h"

namespace djprobe::loader {

struct PlaceOption {
    std::string name;   ///< of a program, or the place of its section
    std::string place;  ///< as for --func or --address; for libbpf also "FILE:SYM"

    bool operator==(const PlaceOption&) const = default;
};

/// Parses "PROG=SITE". Throws Error(kUsage).
PlaceOption parse_place_option(const std::string& text);

/// Gives an object's programs the places that the command line has for them. A name that no program
/// has means the place of a section: then those that djprobe can run, and others where there is
/// none of them. Throws Error(kUsage) for a name that is neither.
void place_programs(const std::vector<PlaceOption>& places, std::vector<Program>& programs);

/// "/lib/libc.so.6:getaddrinfo": a function of a program or library.
bool is_user_place(const std::string& place);

}  // namespace djprobe::loader
