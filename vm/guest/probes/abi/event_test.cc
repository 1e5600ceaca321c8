// SPDX-License-Identifier: GPL-2.0
// The event fd, which holds a probe fd's probes for a tool.
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

class Event : public ProbeTest {
  protected:
    Fd make(uintptr_t kind = DJPROBE_EVENT_PERF) const {
        const int fd =
            call_ioctl(device_.fd(), DJPROBE_IOC_EVENT, reinterpret_cast<const void*>(kind));
        if (fd < 0) errno = -fd;
        return Fd(fd);
    }

    static int hold(const Fd& event, int probe) {
        djprobe_hold request = {};
        request.size = sizeof request;
        request.probe_fd = probe;
        return call_ioctl(event.get(), DJPROBE_IOC_HOLD, &request);
    }

    static short polled(int fd) {
        pollfd waiting = {fd, POLLIN, 0};
        poll(&waiting, 1, 0);
        return waiting.revents;
    }

    static int query(const Fd& event, djprobe_total& total) {
        total = {};
        total.size = sizeof total;
        return call_ioctl(event.get(), DJPROBE_IOC_TOTAL, &total);
    }
};

TEST_F(Event, ItsEndDisablesTheProbesAndKeepsTheirCounters) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    Fd event = make();
    ASSERT_EQ(hold(event, probe.fd()), 0);
    call_getpgid(5);
    EXPECT_EQ(polled(probe.fd()), 0);
    event.reset();
    EXPECT_EQ(polled(probe.fd()), POLLHUP);
    call_getpgid(100);
    EXPECT_EQ(probe.query().hits, 5u);
    EXPECT_EQ(probe.query().state, DJPROBE_STATE_DISARMED);
}

TEST_F(Event, TheProbesOutliveTheirOwnFd) {
    Probe probe = device_.must_attach(at(kGetpgid));
    const Fd event = make();
    ASSERT_EQ(hold(event, probe.fd()), 0);
    probe.detach();
    call_getpgid(7);
    djprobe_total total;
    ASSERT_EQ(query(event, total), 0);
    EXPECT_EQ(total.hits, 7u);
}

TEST_F(Event, OneEventHoldsOneProbeFdOnce) {
    const Probe one = device_.must_attach(at(kGetpgid));
    const Probe two = device_.must_attach(at(kGetpgid));
    Fd event = make();
    const Fd other = make();
    djprobe_total total;
    EXPECT_EQ(query(event, total), -ENOTTY) << "it holds none yet";
    EXPECT_EQ(hold(event, event.get()), -EBADF);
    EXPECT_EQ(hold(event, device_.fd()), -EBADF);
    EXPECT_EQ(hold(event, -1), -EBADF);
    EXPECT_EQ(hold(event, one.fd()), 0);
    EXPECT_EQ(hold(event, two.fd()), -EBUSY);
    EXPECT_EQ(hold(other, one.fd()), -EBUSY);
    event.reset();
    EXPECT_EQ(hold(other, one.fd()), -EBUSY) << "another event has had it";
    EXPECT_EQ(hold(other, two.fd()), 0);
    EXPECT_EQ(call_ioctl(one.fd(), DJPROBE_IOC_HOLD, nullptr), -ENOTTY);
}

TEST_F(Event, AnswersAsAPerfEventWithoutABuffer) {
    const Fd event = make();
    const Fd other = make();
    EXPECT_EQ(call_ioctl(event.get(), PERF_EVENT_IOC_ENABLE, nullptr), 0);
    EXPECT_EQ(call_ioctl(event.get(), PERF_EVENT_IOC_DISABLE, nullptr), 0);
    uint64_t number = 0, others = 0;
    EXPECT_EQ(call_ioctl(event.get(), PERF_EVENT_IOC_ID, &number), 0);
    EXPECT_EQ(call_ioctl(other.get(), PERF_EVENT_IOC_ID, &others), 0);
    EXPECT_NE(number, others);
    EXPECT_EQ(call_ioctl(event.get(), PERF_EVENT_IOC_ID, nullptr), -EFAULT);
    EXPECT_EQ(polled(event.get()), POLLHUP);
    const Fd link = make(DJPROBE_EVENT_LINK);
    EXPECT_EQ(call_ioctl(link.get(), PERF_EVENT_IOC_ENABLE, nullptr), -ENOTTY);
    EXPECT_EQ(call_ioctl(link.get(), PERF_EVENT_IOC_ID, &number), -ENOTTY);
    EXPECT_EQ(call_ioctl(link.get(), DJPROBE_IOC_NUMBER, &number), 0);
    EXPECT_GT(number, others);
    EXPECT_FALSE(make(2));
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(Event, AProcessWithoutRightsMayCloseItAndNoMore) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    const Fd event = make();
    ASSERT_EQ(hold(event, probe.fd()), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (setresuid(65534, 65534, 65534)) _exit(2);
        djprobe_total total;
        const bool refused = query(event, total) == -EPERM && hold(event, probe.fd()) == -EPERM &&
                             call_ioctl(event.get(), PERF_EVENT_IOC_DISABLE, nullptr) == 0;
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    call_getpgid(3);
    EXPECT_EQ(probe.query().hits, 3u) << "DISABLE does nothing, and the parent still has it open";
}

}  // namespace
}  // namespace djprobe::vm
