// SPDX-License-Identifier: GPL-2.0
// libbpf believes what a BPF object says of itself: a damaged one can crash it, or make it run in
// circles. Nothing is attached by then, so the process may end; the guard sees to it that it ends
// with a line that says why.
#pragma once

#include <csignal>
#include <iterator>
#include <string_view>

namespace djprobe::loader {

/// While it lives, a fatal signal of this process, or the end of the given CPU time, prints one
/// line about the file and leaves with ExitCode::kBadFile. One at a time, and for one thread: it
/// uses the process' ITIMER_PROF and that thread's signal stack.
class CrashGuard {
  public:
    /// Without a time it guards against crashes only: the kernel may take long over an object.
    explicit CrashGuard(std::string_view file, int seconds = 0);
    ~CrashGuard();
    CrashGuard(const CrashGuard&) = delete;
    CrashGuard& operator=(const CrashGuard&) = delete;

    static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};

  private:
    struct sigaction before_[std::size(kSignals)];
    stack_t stack_before_;
};

}  // namespace djprobe::loader
