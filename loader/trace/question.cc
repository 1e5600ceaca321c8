// SPDX-License-Identifier: GPL-2.0
#include "trace/question.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kReturn = ":return";
constexpr std::string_view kColumns[] = {"time", "cpu", "pid", "tid", "uid", "comm"};

}  // namespace

std::string Question::module() const {
    const std::size_t colon = site.symbol.find(':');
    return colon == std::string::npos ? "" : site.symbol.substr(0, colon);
}

std::string Question::bare_function() const {
    return site.symbol.substr(site.symbol.find(':') + 1);
}

void parse_place(std::string_view text, Question& question) {
    question.at_returns = text.ends_with(kReturn);
    if (question.at_returns) text.remove_suffix(kReturn.size());
    question.site = parse_function(text);
    if (question.site.offset == 0 && question.site.address == 0) return;
    fail(ExitCode::kUsage,
         "{}: a trace is at a function's entry or its returns: give FUNC or FUNC:return", text);
}

std::vector<std::string> parse_columns(const std::string& text) {
    std::vector<std::string> columns;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        columns.push_back(text.substr(at, comma - at));
        at = comma + 1;
        if (std::ranges::find(kColumns, columns.back()) == std::end(kColumns))
            fail(ExitCode::kUsage, "--columns: '{}' is none of {}", columns.back(),
                 fmt::join(kColumns, ", "));
    }
    return columns;
}

}  // namespace djprobe::loader
