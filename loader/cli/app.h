// SPDX-License-Identifier: GPL-2.0
// The command line as a whole.
#pragma once

#include <functional>
#include <vector>

#include "base/exit_code.h"

namespace CLI {
class App;
}

namespace djprobe::loader {

/// A subcommand: its place in the command line, and what it does. The return value is the exit
/// status; Error is for everything that goes wrong.
struct Command {
    CLI::App* app;
    std::function<int()> run;
    std::vector<ExitCode> codes;  ///< with which it may end
};

/// Parses, runs the subcommand, prints errors as one line on stderr. Returns the exit status.
int run_probeload(int argc, const char* const* argv);

}  // namespace djprobe::loader
