// SPDX-License-Identifier: GPL-2.0
#include "cover/lcov.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>

namespace djprobe::loader {
namespace {

struct Function {
    unsigned line;
    std::string name;
    std::uint64_t calls;
};

std::string path_of(const std::string& file, const SourceText& source) {
    const std::filesystem::path path = source.find(file).value_or(file);
    return std::filesystem::absolute(path).lexically_normal().string();
}

// How often control came in; where that is not known, whether it did.
std::uint64_t calls_of(const FunctionCoverage& function) {
    return function.counts.counts.front().value_or(function.blocks.ran ? 1 : 0);
}

std::string functions_text(const std::vector<Function>& functions) {
    std::string text;
    std::size_t hit = 0;
    for (const Function& function : functions)
        text += fmt::format("FN:{},{}\n", function.line, function.name);
    for (const Function& function : functions) {
        text += fmt::format("FNDA:{},{}\n", function.calls, function.name);
        hit += function.calls != 0;
    }
    return text + fmt::format("FNF:{}\nFNH:{}\n", functions.size(), hit);
}

std::string lines_text(const std::map<unsigned, LineCount>& lines) {
    std::string text;
    std::size_t found = 0, hit = 0;
    for (const auto& [number, line] : lines) {
        if (!line.least && !line.whole) continue;
        text += fmt::format("DA:{},{}\n", number, line.least);
        ++found;
        hit += line.least != 0;
    }
    return text + fmt::format("LF:{}\nLH:{}\n", found, hit);
}

}  // namespace

std::string lcov_text(const std::vector<FunctionCoverage>& functions, const SourceText& source) {
    LineCounts lines;
    std::map<std::string, std::vector<Function>> begun;
    for (const FunctionCoverage& function : functions) {
        add_lines(lines, function.lines);
        if (function.source->line())
            begun[function.source->file()].push_back(
                {function.source->line(), function.flow->name, calls_of(function)});
    }
    std::string text;
    for (const auto& [file, all] : lines)
        text += fmt::format("TN:\nSF:{}\n{}{}end_of_record\n", path_of(file, source),
                            functions_text(begun[file]), lines_text(all));
    return text;
}

}  // namespace djprobe::loader
