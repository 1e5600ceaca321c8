// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/source_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "kernel/similar_names.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<std::string> source_files(const DwarfFile& debug) {
    std::set<std::string> names;
    for (Dwarf_Die& unit : debug.units()) {
        Dwarf_Files* files = nullptr;
        std::size_t count = 0;
        if (dwarf_getsrcfiles(&unit, &files, &count) != 0) continue;
        for (std::size_t i = 1; i < count; ++i)
            if (const char* const name = dwarf_filesrc(files, i, nullptr, nullptr))
                names.insert(name);
    }
    return {names.begin(), names.end()};
}

bool path_ends_in(const std::string& path, const std::string& end) {
    const std::string whole = fs::path(path).lexically_normal().string();
    const std::string part = fs::path(end).lexically_normal().string();
    if (!whole.ends_with(part)) return false;
    return whole.size() == part.size() || whole[whole.size() - part.size() - 1] == '/';
}

bool is_same_path(const std::string& one, const std::string& other) {
    return one == other || fs::path(one).lexically_normal() == fs::path(other).lexically_normal();
}

bool has_file(const std::vector<std::string>& files, const std::string& name) {
    return std::ranges::any_of(files,
                               [&](const std::string& file) { return path_ends_in(file, name); });
}

std::string similar_file(const std::vector<std::string>& files, const std::string& name) {
    const std::string wanted = fs::path(name).filename();
    std::size_t least = std::clamp<std::size_t>(wanted.size() / 3, 1, 3) + 1;
    std::string best;
    for (const std::string& file : files) {
        const std::string own = fs::path(file).filename();
        const std::size_t distance = edit_distance(wanted, own, least - 1);
        if (distance >= least) continue;
        least = distance;
        best = file;
    }
    return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

}  // namespace djprobe::loader
