// SPDX-License-Identifier: GPL-2.0
#include "base/say.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "base/write.h"

namespace djprobe::loader {
namespace {

/// While it lives, a write to a pipe without a reader is an error and no death by SIGPIPE: the exit
/// status has more to tell. StopSignals does that for most of a run, but not up to its end.
class NoPipeSignal {
  public:
    NoPipeSignal() noexcept {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    NoPipeSignal(const NoPipeSignal&) = delete;
    NoPipeSignal& operator=(const NoPipeSignal&) = delete;
    ~NoPipeSignal() {
        // A caller that had SIGPIPE blocked may wait for a signal of its own.
        if (sigismember(&before_, SIGPIPE) != 0) return;
        const timespec at_once = {};
        sigtimedwait(&pipe_, nullptr, &at_once);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

  private:
    sigset_t pipe_;
    sigset_t before_;
};

}  // namespace

void write_stderr(std::string_view text) noexcept {
    const NoPipeSignal no_signal;
    while (!text.empty()) {
        const ssize_t written = write_some(STDERR_FILENO, text);
        if (written < 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace djprobe::loader
