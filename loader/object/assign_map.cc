// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include <cstring>
#include <limits>

#include "base/error.h"
#include "kernel/site_spec.h"
#include "object/assign.h"

namespace djprobe::loader {
namespace {

std::string map_names(const bpf_object* object) {
    std::string names;
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (!bpf_map__is_internal(map))
            names += (names.empty() ? "" : ", ") + std::string(bpf_map__name(map));
    }
    return names;
}

// libbpf would take the size, and the kernel then refuse the map without a word.
void check_has_values(const bpf_map& map, const std::string& text) {
    if (has_values(map)) return;
    fail(ExitCode::kUsage,
         "--map {0}: '{1}' is a ring buffer, which has no values: give "
         "{1}.max_entries=BYTES",
         text, bpf_map__name(&map));
}

}  // namespace

void assign_map(const bpf_object* object, const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::size_t dot = text.rfind('.', equals);
    if (equals == text.npos || dot == text.npos || dot == 0)
        fail(ExitCode::kUsage, "--map: '{}' is neither NAME.max_entries=N nor NAME.value_size=N",
             text);
    const std::string name = text.substr(0, dot), what = text.substr(dot + 1, equals - dot - 1);
    const auto number = parse_unsigned(text.substr(equals + 1));
    if (!number || *number == 0 || *number > std::numeric_limits<__u32>::max())
        fail(ExitCode::kUsage, "--map {}: '{}' is not a whole number from 1 to 4294967295", text,
             text.substr(equals + 1));
    bpf_map* const map = bpf_object__find_map_by_name(object, name.c_str());
    if (!map)
        fail(ExitCode::kUsage, "--map {}: no map '{}'; there are: {}", text, name,
             map_names(object));
    const auto value = static_cast<__u32>(*number);
    int error = 0;
    if (what == "value_size") check_has_values(*map, text);
    if (what == "max_entries")
        error = bpf_map__set_max_entries(map, value);
    else if (what == "value_size")
        error = bpf_map__set_value_size(map, value);
    else
        fail(ExitCode::kUsage, "--map {}: '{}' is neither max_entries nor value_size", text, what);
    if (error != 0) fail(ExitCode::kUsage, "--map {}: {}", text, std::strerror(-error));
}

}  // namespace djprobe::loader
