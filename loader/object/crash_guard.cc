// SPDX-License-Identifier: GPL-2.0
#include "object/crash_guard.h"

#include <fmt/core.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "base/exit_code.h"
#include "base/temp_dir.h"

namespace djprobe::loader {
namespace {

// A handler may neither allocate nor format: the line is ready before anything can happen, and the
// stack is one of its own, for the crash that comes from running out of it.
std::string line;
alignas(16) std::byte stack[64 * 1024];

extern "C" void say_and_leave(int) {
    const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    static_cast<void>(written);
    TempDir::remove_all_at_once();
    _exit(static_cast<int>(ExitCode::kBadFile));
}

}  // namespace

CrashGuard::CrashGuard(std::string_view file, int seconds) {
    line = fmt::format(
        "probeload: {}: damaged: libbpf does not survive reading it; build it anew\n", file);
    const stack_t own = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
    sigaltstack(&own, &stack_before_);
    struct sigaction action = {};
    action.sa_handler = say_and_leave;
    action.sa_flags = SA_ONSTACK;
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
        sigaction(kSignals[i], &action, &before_[i]);
    // CPU time of this process: a wait is no endless loop, and StopSignals uses SIGALRM.
    const itimerval time = {.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
    setitimer(ITIMER_PROF, &time, nullptr);
}

CrashGuard::~CrashGuard() {
    constexpr itimerval kNever = {};
    setitimer(ITIMER_PROF, &kNever, nullptr);
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
        sigaction(kSignals[i], &before_[i], nullptr);
    sigaltstack(&stack_before_, nullptr);
}

}  // namespace djprobe::loader
