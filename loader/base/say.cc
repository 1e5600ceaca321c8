// SPDX-License-Identifier: GPL-2.0
#include "base/say.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>

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

/// A stop interrupts what is being written once a second. If stderr takes nothing as long as that,
/// the rest is discarded: probes must not stay in the text because of what is left to be said.
constexpr int kMostInterruptions = 3;

bool takes_nothing() noexcept {
    pollfd room = {STDERR_FILENO, POLLOUT, 0};
    return poll(&room, 1, 0) == 0;
}

thread_local std::string* kept = nullptr;

// Without memory it is lost, as what a full disk does not take.
void keep(std::string_view text) noexcept {
    try {
        kept->append(text);
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace

KeptWords::KeptWords() : outer_(kept) {
    kept = &text_;
}

KeptWords::~KeptWords() {
    kept = outer_;
}

void write_stderr(std::string_view text) noexcept {
    if (kept) return keep(text);
    static std::atomic<bool> stalled = false;  // by an earlier text
    const NoPipeSignal no_signal;
    if (stalled && takes_nothing()) return;
    stalled = false;
    for (int interruptions = 0; !text.empty();) {
        const ssize_t written = write_once(STDERR_FILENO, text);
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
            interruptions = 0;
        } else if (errno != EINTR) {
            return;
        } else if (++interruptions == kMostInterruptions) {
            stalled = true;
            return;
        }
    }
}

}  // namespace djprobe::loader
