// SPDX-License-Identifier: GPL-2.0
#include "session/place_option.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace djprobe::loader {
namespace {

// Indices, since the caller changes what it finds.
std::vector<std::size_t> find_if(const std::vector<Program>& programs, const auto& is_meant) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < programs.size(); ++i)
        if (is_meant(programs[i])) found.push_back(i);
    return found;
}

std::vector<std::size_t> named(const std::vector<Program>& programs, const std::string& name) {
    auto found = find_if(programs, [&](const Program& program) { return program.name == name; });
    if (!found.empty()) return found;
    const auto has_place = [&](const Program& program) {
        return place_of_section(program.section) == name;
    };
    found = find_if(programs, [&](const Program& program) {
        return has_place(program) && runner_of(program) == Runner::kDjprobe;
    });
    return found.empty() ? find_if(programs, has_place) : found;
}

}  // namespace

PlaceOption parse_place_option(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size())
        fail(ExitCode::kUsage, "--at: '{}' is not PROG=SITE", text);
    return {text.substr(0, equals), text.substr(equals + 1)};
}

void place_programs(const std::vector<PlaceOption>& places, std::vector<Program>& programs) {
    for (const PlaceOption& option : places) {
        const std::vector<std::size_t> meant = named(programs, option.name);
        if (meant.empty())
            fail(ExitCode::kUsage,
                 "--at {}={}: no program has this name, and no section this place; there are: {}",
                 option.name, option.place, program_list(programs));
        for (const std::size_t i : meant)
            programs[i].places.push_back(option.place);
    }
}

bool is_user_place(const std::string& place) {
    return place.starts_with('/') && place.find(':') != place.npos;
}

}  // namespace djprobe::loader
