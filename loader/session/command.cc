// SPDX-License-Identifier: GPL-2.0
#include "session/command.h"

#include <sys/wait.h>

#include <system_error>

#include "base/error.h"

namespace djprobe::loader {

Child start_command(const std::string& command) {
    try {
        return Child::start({"/bin/sh", "-c", command});
    } catch (const std::system_error& error) {
        fail(ExitCode::kCommandFailed, "cannot start '{}': {}", command, error.code().message());
    }
}

std::string command_text(int status) {
    // The command may end with the same status by itself: the two look alike.
    std::string text = "command: ended with " + describe_wait_status(status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        text += " (the shell's word for: not found)";
    if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
        text += " (the shell's word for: not executable)";
    return text;
}

int command_exit_status(const std::optional<int>& status, bool passed_on) {
    if (status && passed_on)
        return WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
    const bool not_run = status && WIFEXITED(*status) &&
                         (WEXITSTATUS(*status) == 126 || WEXITSTATUS(*status) == 127);
    return static_cast<int>(not_run ? ExitCode::kCommandFailed : ExitCode::kOk);
}

}  // namespace djprobe::loader
