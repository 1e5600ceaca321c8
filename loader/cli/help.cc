// SPDX-License-Identifier: GPL-2.0
#include "cli/help.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace djprobe::loader {
namespace {

constexpr std::size_t kLeft = 30;
constexpr std::size_t kWidth = 80;

// The first line has room from the right column on.
std::string wrapped(std::string_view text) {
    std::string lines;
    std::size_t column = kLeft;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (column > kLeft && column + 1 + word.size() > kWidth) {
            lines += "\n" + std::string(kLeft, ' ');
            column = kLeft;
        }
        if (column > kLeft) {
            lines += ' ';
            ++column;
        }
        lines += word;
        column += word.size();
    }
    return lines;
}

}  // namespace

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
    if (app->get_name() == "start")
        return "Usage: probeload start NAME [OPTION of attach]... [FILE]\n";
    return CLI::Formatter::make_usage(app, std::move(name));
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
    std::string left = "  " + make_option_name(option, is_positional);
    if (option->get_type_size() != 0 && !option->get_type_name().empty())
        left += " " + option->get_type_name();
    left += left.size() < kLeft ? std::string(kLeft - left.size(), ' ')
                                : "\n" + std::string(kLeft, ' ');
    return left + wrapped(make_option_desc(option)) + "\n";
}

std::string exit_code_table(std::span<const ExitCode> codes) {
    std::string table = "Exit status:\n";
    for (const ExitCode code : codes) {
        switch (code) {
#define DJPROBE_EXIT_CODE_LINE(number, constant, meaning)       \
    case ExitCode::constant:                                    \
        table += fmt::format("  {:>2}  {}\n", number, meaning); \
        break;
            DJPROBE_EXIT_CODES(DJPROBE_EXIT_CODE_LINE)
#undef DJPROBE_EXIT_CODE_LINE
        }
    }
    return table;
}

}  // namespace djprobe::loader
