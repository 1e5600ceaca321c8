// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/source_text.h"

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> read_lines(const std::string& path) {
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    return lines;
}

}  // namespace

SourceText::SourceText(const std::optional<std::string>& folder) : folder_(folder) {
    std::error_code error;
    if (folder_ && !fs::is_directory(*folder_, error))
        fail(ExitCode::kBadFile, "{}: no folder: --source names the one that holds the source",
             *folder_);
}

std::optional<std::string> SourceText::find(const std::string& file) const {
    if (!folder_) return std::nullopt;
    const fs::path named = fs::path(file).lexically_normal().relative_path();
    std::error_code error;
    for (auto first = named.begin(); first != named.end(); ++first) {
        fs::path path = *folder_;
        for (auto part = first; part != named.end(); ++part)
            path /= *part;
        if (fs::is_regular_file(path, error)) return path;
    }
    return std::nullopt;
}

std::string SourceText::line(const std::string& file, unsigned number) {
    auto known = files_.find(file);
    if (known == files_.end()) {
        const auto path = find(file);
        known = files_.emplace(file, path ? read_lines(*path) : std::vector<std::string>()).first;
    }
    const std::vector<std::string>& lines = known->second;
    return number && number <= lines.size() ? lines[number - 1] : "";
}

}  // namespace djprobe::loader
