// SPDX-License-Identifier: GPL-2.0
// DJPROBE_IOC_WAIT and signals.
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>

#include "../harness/fixture.h"
#include "../harness/random_functions.h"

namespace djprobe::vm {
namespace {

std::atomic<int> alarms;

/// SIGALRM a few milliseconds from now, and every few from then on.
class Alarm {
  public:
    explicit Alarm(int flags) {
        struct sigaction action = {};
        action.sa_handler = [](int) { ++alarms; };
        action.sa_flags = flags;
        sigaction(SIGALRM, &action, &before_);
        alarms = 0;
        set(3000);
    }
    ~Alarm() {
        set(0);
        sigaction(SIGALRM, &before_, nullptr);
    }
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

  private:
    static void set(long microseconds) {
        const itimerval time = {{0, microseconds}, {0, microseconds}};
        setitimer(ITIMER_REAL, &time, nullptr);
    }
    struct sigaction before_ = {};
};

class Wait : public ProbeTest {
  protected:
    /// They take a quiescence, and a while to be built.
    Probe many() const {
        std::vector<djprobe_site> sites;
        for (const std::string& function : functions_) {
            const auto [error, explain] = device_.explain(at(function));
            if (error || explain.verdict != DJPROBE_VERDICT_JUMP) continue;
            djprobe_site site = {};
            site.symbol = reinterpret_cast<uintptr_t>(function.c_str());
            sites.push_back(site);
        }
        ManyAnswer answer = device_.attach_many(sites, counter());
        EXPECT_EQ(answer.error, 0);
        return std::move(answer.probes);
    }
    static uint32_t optimizing(const Probe& probes) {
        return probes.total().states[DJPROBE_STATE_OPTIMIZING];
    }

  private:
    const std::vector<std::string> functions_ = random_functions(300);
};

TEST_F(Wait, ASignalEndsIt) {
    const Probe probes = many();
    ASSERT_GT(optimizing(probes), 0u);
    {
        const Alarm alarm(0);
        EXPECT_EQ(call_ioctl(probes.fd(), DJPROBE_IOC_WAIT, nullptr), -EINTR);
    }
    EXPECT_GT(optimizing(probes), 0u) << "it ended because it was done";
    probes.settle();
    EXPECT_EQ(optimizing(probes), 0u);
}

TEST_F(Wait, ASignalThatRestartsCallsDoesNot) {
    const Probe probes = many();
    ASSERT_GT(optimizing(probes), 0u);
    {
        const Alarm alarm(SA_RESTART);
        EXPECT_EQ(call_ioctl(probes.fd(), DJPROBE_IOC_WAIT, nullptr), 0);
        EXPECT_GT(alarms, 0);
    }
    EXPECT_EQ(optimizing(probes), 0u);
}

}  // namespace
}  // namespace djprobe::vm
