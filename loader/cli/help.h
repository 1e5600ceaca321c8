// SPDX-License-Identifier: GPL-2.0
// How --help looks.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "base/exit_code.h"

namespace djprobe::loader {

/// Option and value on the left, the description on the right, wrapped at 80 columns.
class HelpFormatter : public CLI::Formatter {
  public:
    /// What follows the name of `start` is no option of its own to the parser.
    std::string make_usage(const CLI::App* app, std::string name) const override;
    std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

/// "Exit status:" and a line for each code.
std::string exit_code_table(std::span<const ExitCode> codes);

}  // namespace djprobe::loader
