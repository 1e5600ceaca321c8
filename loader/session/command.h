// SPDX-License-Identifier: GPL-2.0
// The COMMAND of -c: what runs while the probes are in.
#pragma once

#include <optional>
#include <string>

#include "base/child.h"

namespace djprobe::loader {

/// By /bin/sh. Throws Error(kCommandFailed).
Child start_command(const std::string& command);

/// "command: ended with status 3", as of waitpid().
std::string command_text(int status);

/// Our exit status after a command that has ended so, or after none: kOk, but for the shell's words
/// for what it could not run; `passed_on`: the command's, as a shell has it.
int command_exit_status(const std::optional<int>& status, bool passed_on);

}  // namespace djprobe::loader
