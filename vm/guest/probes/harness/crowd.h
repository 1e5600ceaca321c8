// SPDX-License-Identifier: GPL-2.0
// Many tasks inside the same function at once.
#pragma once

#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <vector>

namespace djprobe::vm {

/// The function in which a task sleeps.
inline constexpr const char* kSleep = "hrtimer_nanosleep";

/// One call of it.
void sleep_once(long milliseconds);
/// `count` threads that do so at the same time; back when all are.
void sleep_together(unsigned count, long milliseconds);

/// False when it takes longer than a minute. The waiting is no call of kSleep.
template <class Done>
bool wait_until(Done&& done) {
    for (int i = 0; i < 6000 && !done(); ++i)
        poll(nullptr, 0, 10);
    return done();
}

/// Threads that sleep until wake(), each in one call of kSleep. Small ones: 10,000 of them take
/// some 400 MiB, nearly all of it the kernel's.
class Crowd {
  public:
    /// Throws when there is no room for so many.
    explicit Crowd(unsigned count);
    ~Crowd() { wake(); }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    /// Wait until `entered`() says that all are inside; false when it takes longer than a minute.
    template <class Entered>
    bool gather(Entered&& entered) const {
        return wait_until([&] { return entered() >= threads_.size(); });
    }
    /// Wake all of them by a signal, and wait until they have gone.
    void wake();

  private:
    static void* sleep(void* self);

    std::vector<pthread_t> threads_;
    std::atomic<unsigned> awake_ = 0;
};

}  // namespace djprobe::vm
