// SPDX-License-Identifier: GPL-2.0
#include "events/variables.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstddef>

#include "decode/globals.h"
#include "events/loss.h"
#include "events/value_printer.h"

namespace djprobe::loader {
namespace {

std::vector<std::byte> section_of(const Global& global) {
    std::vector<std::byte> section(bpf_map__value_size(global.map));
    const __u32 key = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(global.map), &key, section.data()) != 0) section.clear();
    return section;
}

bool is_result(const Global& global) {
    return !global.section.starts_with(".rodata") && global.name != kLossCounter;
}

}  // namespace

std::vector<Variable> dump_variables(const bpf_object* object) {
    std::vector<Variable> variables;
    for (const Global& global : globals_of(object)) {
        if (!is_result(global)) continue;
        const std::vector<std::byte> section = section_of(global);
        if (section.empty()) continue;
        const auto bytes = std::span(section).subspan(global.offset, global.size);
        if (std::ranges::count(bytes, std::byte{}) == std::ssize(bytes)) continue;
        ValuePrinter printer(bpf_object__btf(object), global.type_id, global.size, global.name);
        variables.push_back(
            {global.name, printer.text(bytes), printer.charts(bytes), printer.json(bytes)});
    }
    return variables;
}

}  // namespace djprobe::loader
