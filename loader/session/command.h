// SPDX-License-Identifier: GPL-2.0
// The COMMAND of -c: what runs while the probes are in.
#pragma once

#include <optional>
#include <string>

#include "base/child.h"

namespace djprobe::loader {

/// By /bin/sh. Throws Error(kCommandFailed).
Child start_command(const std::string& command);

/// Our exit status after a command that has ended so (as of waitpid()), or after none: kOk, but for
/// the shell's words for what it could not run.
int command_exit_status(const std::optional<int>& status);

}  // namespace djprobe::loader
