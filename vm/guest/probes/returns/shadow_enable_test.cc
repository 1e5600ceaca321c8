// SPDX-License-Identifier: GPL-2.0
// A probe in shadow mode that is disabled and enabled: which returns it sees.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

/// No other task in the guest calls it, and its caller stays until a signal comes.
constexpr const char* kPause = "__x64_sys_pause";

/// Threads, each in one call of it.
class Pausing {
  public:
    explicit Pausing(unsigned count) {
        struct sigaction action = {};
        action.sa_handler = [](int) {};
        sigaction(SIGUSR1, &action, nullptr);
        for (unsigned i = 0; i < count; ++i)
            threads_.emplace_back([this] {
                syscall(SYS_pause);
                ++awake_;
            });
    }
    ~Pausing() { wake(); }
    Pausing(const Pausing&) = delete;
    Pausing& operator=(const Pausing&) = delete;

    void wake() {
        while (awake_ < threads_.size()) {
            // Who was not asleep yet missed the signal before.
            for (std::thread& thread : threads_)
                pthread_kill(thread.native_handle(), SIGUSR1);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
        awake_ = 0;
    }

  private:
    std::vector<std::thread> threads_;
    std::atomic<unsigned> awake_ = 0;
};

class ShadowEnable : public ProbeTest {
  protected:
    ShadowEnable() {
        Request request = at(kPause);
        request.flags = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;
        probe_ = device_.must_attach(request);
        probe_.settle();
        entries_ = device_.must_attach(at(kPause));
    }
    void inside(uint64_t count) const {
        for (int i = 0; i < 1000 && entries_.hits() < count; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        ASSERT_EQ(entries_.hits(), count);
    }

    static constexpr unsigned kTasks = 5;
    Probe probe_, entries_;
};

TEST_F(ShadowEnable, ReturnsWhileItIsDisabledAreNotSeen) {
    Pausing tasks(kTasks);
    inside(kTasks);
    EXPECT_EQ(probe_.enable(false), 0);
    tasks.wake();
    EXPECT_EQ(probe_.hits(), 0u);
    EXPECT_EQ(probe_.enable(true), 0);
    EXPECT_EQ(probe_.hits(), 0u);
    EXPECT_EQ(missed(probe_.query()), 0u);
}

TEST_F(ShadowEnable, ReturnsAfterItIsEnabledAgainAreSeen) {
    Pausing tasks(kTasks);
    inside(kTasks);
    EXPECT_EQ(probe_.enable(false), 0);
    EXPECT_EQ(probe_.enable(true), 0);
    tasks.wake();
    EXPECT_EQ(probe_.hits(), kTasks);
    EXPECT_EQ(missed(probe_.query()), 0u);
}

TEST_F(ShadowEnable, WhoHasEnteredWhileItWasDisabledIsNotSeen) {
    EXPECT_EQ(probe_.enable(false), 0);
    Pausing tasks(kTasks);
    inside(kTasks);
    EXPECT_EQ(probe_.enable(true), 0);
    tasks.wake();
    EXPECT_EQ(probe_.hits(), 0u);
    EXPECT_EQ(missed(probe_.query()), 0u);
}

}  // namespace
}  // namespace djprobe::vm
