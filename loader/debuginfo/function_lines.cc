// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/function_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace djprobe::loader {
namespace {

constexpr std::size_t kWidest = 60;

// Within the function its name need not stand at each.
std::string site_text(const std::string& function, const SymbolPlace& place) {
    return place.symbol == function ? fmt::format("+{:#x}", place.offset) : place.str();
}

std::string sites_text(const std::string& function, const LineSites& line) {
    std::string text;
    for (const LineSites::Site& site : line.sites) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", site_text(function, site.place));
        if (!site.how.empty()) text += " " + site.how;
    }
    return text;
}

std::string source_text(const LineSites& line, SourceText& source) {
    std::string text = source.line(line.file, line.line);
    const std::size_t inlined = line.functions.empty() ? 0 : line.functions.size() - 1;
    if (inlined == 0) return text;
    return fmt::format("{}{}[{}]", text, text.empty() ? "" : "  ", line.functions.front());
}

std::vector<std::string> names_of(const std::vector<StatementSite::Function>& functions) {
    std::vector<std::string> names;
    names.reserve(functions.size());
    for (const StatementSite::Function& function : functions)
        names.push_back(function.name);
    return names;
}

bool is_of(const LineSites& line, const StatementSite& site) {
    return line.line == site.line && line.file == site.file &&
           line.functions == names_of(site.functions);
}

}  // namespace

std::vector<LineSites> lines_of(const std::vector<StatementSite>& statements,
                                const HowProbed& how_probed) {
    std::vector<LineSites> lines;
    std::vector<std::uint64_t> of;  // the instance of each line
    for (const StatementSite& site : statements) {
        std::size_t i = 0;
        while (i < lines.size() && !(is_of(lines[i], site) && of[i] == site.instance()))
            ++i;
        if (i == lines.size()) {
            lines.push_back({site.file, site.line, names_of(site.functions), {}});
            of.push_back(site.instance());
        }
        std::vector<LineSites::Site>& sites = lines[i].sites;
        // Several statements of the line may begin at one instruction.
        if (!sites.empty() && sites.back().place.str() == site.place.str()) continue;
        sites.push_back({site.place, how_probed(site.place)});
    }
    return lines;
}

std::string lines_text(const std::string& function, const std::vector<LineSites>& lines,
                       SourceText& source) {
    std::size_t width = 0;
    for (const LineSites& line : lines)
        width = std::max(width, std::min(sites_text(function, line).size(), kWidest));
    std::string text =
        fmt::format("{}\n{:>24}  {:{}}  {}\n", function, "LINE", "SITES", width, "SOURCE");
    for (const LineSites& line : lines) {
        const std::string name = std::filesystem::path(line.file).filename().string();
        std::string one = fmt::format("{:>24}  {:{}}  {}", fmt::format("{}:{}", name, line.line),
                                      sites_text(function, line), width, source_text(line, source));
        one.erase(one.find_last_not_of(' ') + 1);
        text += one + "\n";
    }
    return text;
}

std::string lines_json(const std::string& function, const std::vector<LineSites>& lines) {
    std::string text;
    for (const LineSites& line : lines) {
        nlohmann::ordered_json json{
            {"type", "line"}, {"function", function}, {"file", line.file}, {"line", line.line}};
        json["functions"] = line.functions;
        json["sites"] = nlohmann::ordered_json::array();
        for (const LineSites::Site& site : line.sites) {
            json["sites"].push_back(
                {{"site", fmt::format("{}+{:#x}", site.place.symbol, site.place.offset)}});
            if (!site.how.empty()) json["sites"].back()["probe"] = site.how;
        }
        text += json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }
    return text;
}

}  // namespace djprobe::loader
