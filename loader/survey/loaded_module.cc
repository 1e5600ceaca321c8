// SPDX-License-Identifier: GPL-2.0
#include "survey/loaded_module.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "kernel/live_modules.h"

namespace djprobe::loader {
namespace {

using Section = LoadedModule::Section;

constexpr std::uint64_t kPage = 4096;

bool is_code(std::string_view name) {
    return name.find("text") != name.npos || name.starts_with(".altinstr_");
}

std::vector<Section> read_sections(const std::string& module) {
    std::vector<Section> sections;
    std::error_code gone;
    const auto folder = fmt::format("/sys/module/{}/sections", module);
    for (const auto& file : std::filesystem::directory_iterator(folder, gone)) {
        std::uint64_t begin = 0;
        if (std::ifstream(file.path()) >> std::hex >> begin)
            sections.push_back({file.path().filename().string(), {begin, begin}});
    }
    return sections;
}

}  // namespace

Range LoadedModule::section(std::string_view wanted) const {
    for (const Section& section : sections)
        if (section.name == wanted) return section.range;
    return {};
}

std::vector<Range> LoadedModule::constants() const {
    std::vector<Range> areas;
    bool constant = false;
    for (auto section = sections.begin(); section != sections.end(); ++section) {
        // Each kind of memory begins with a page of its own; what lies there does not tell by its
        // name which it is.
        if (section->range.begin % kPage == 0) {
            const auto is_next = [](const Section& other) {
                return other.range.begin % kPage == 0;
            };
            const auto end = std::find_if(std::next(section), sections.end(), is_next);
            constant = std::any_of(section, end, [](const Section& other) {
                return other.name.starts_with(".rodata");
            });
            if (constant) areas.push_back({section->range.begin, section->range.begin});
        }
        if (constant) areas.back().end = section->range.end;
    }
    return areas;
}

std::optional<LoadedModule> lay_out_module(std::string name, std::uint64_t base, std::uint64_t size,
                                           std::vector<Section> begins) {
    LoadedModule module{std::move(name), {base, base}, {}};
    // The kernel frees these sections after init: the memory may have another owner by now.
    std::erase_if(begins, [](const Section& section) { return section.name.starts_with(".init"); });
    std::ranges::stable_sort(begins, {},
                             [](const Section& section) { return section.range.begin; });
    for (std::size_t i = 0; i < begins.size(); ++i) {
        Section& section = begins[i];
        // Text, constants and data may lie apart.
        section.range.end = section.range.begin + size;
        if (i + 1 < begins.size())
            section.range.end = std::min(section.range.end, begins[i + 1].range.begin);
        if (is_code(section.name) && section.range.begin >= base &&
            section.range.begin < base + size)
            module.text.end = (section.range.end + kPage - 1) & ~(kPage - 1);
        module.sections.push_back(section);
    }
    if (module.text.size() == 0) return std::nullopt;
    return module;
}

std::vector<LoadedModule> loaded_modules() {
    std::vector<LoadedModule> modules;
    for (LiveModule& live : live_modules()) {
        if (live.name == "djprobe") continue;
        std::vector<Section> sections = read_sections(live.name);
        if (auto module =
                lay_out_module(std::move(live.name), live.base, live.size, std::move(sections)))
            modules.push_back(std::move(*module));
    }
    return modules;
}

}  // namespace djprobe::loader
