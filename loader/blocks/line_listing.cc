// SPDX-License-Identifier: GPL-2.0
#include "blocks/line_listing.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "blocks/count_words.h"

namespace djprobe::loader {
namespace {

Count exact(const LineCount& line) {
    return line.whole ? Count(line.least) : Count();
}

std::uint64_t highest(const LineCounts& counts) {
    std::uint64_t most = 0;
    for (const auto& [file, lines] : counts)
        for (const auto& [number, line] : lines)
            most = std::max(most, line.least);
    return most;
}

// The function's own file, then the others by name.
std::vector<std::string> files_of(const FunctionLines& lines, const LineCounts& counts) {
    std::vector<std::string> files;
    for (const auto& [file, all] : counts)
        files.push_back(file);
    std::stable_partition(files.begin(), files.end(),
                          [&](const auto& file) { return file == lines.file(); });
    return files;
}

}  // namespace

std::string line_listing(const std::string& function, const FunctionLines& lines,
                         const LineCounts& counts, SourceText& source) {
    const std::uint64_t most = highest(counts);
    std::string text =
        fmt::format("{}\n{:>14} {:8} {:>20}  {}\n", function, "COUNT", "", "LINE", "SOURCE");
    for (const std::string& file : files_of(lines, counts)) {
        text +=
            fmt::format("{:>14} {}\n", "", std::filesystem::path(file).lexically_normal().string());
        for (const auto& [number, line] : counts.at(file)) {
            const std::string name = std::filesystem::path(file).filename().string();
            text += fmt::format("{:>14} {:8} {:>20}  {}\n", count_text(exact(line)),
                                count_bar(exact(line), most), fmt::format("{}:{}", name, number),
                                source.line(file, number));
        }
    }
    return text;
}

std::string line_json(const std::string& function, const FunctionLines& lines,
                      const LineCounts& counts) {
    nlohmann::ordered_json json{{"type", "lines"}, {"function", function}};
    json["insns"] = lines.insns();
    json["insns_with_line"] = lines.known();
    json["lines"] = nlohmann::ordered_json::array();
    for (const std::string& file : files_of(lines, counts))
        for (const auto& [number, line] : counts.at(file))
            json["lines"].push_back({{"file", file},
                                     {"line", number},
                                     {"count", count_json(exact(line))},
                                     {"at_least", line.least}});
    return json_line(json);
}

}  // namespace djprobe::loader
