// SPDX-License-Identifier: GPL-2.0
// The event fd, which holds a probe fd's probes for a tool.
#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

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

    static int keep(int probe, int file) {
        djprobe_keep request = {};
        request.size = sizeof request;
        request.fd = file;
        return call_ioctl(probe, DJPROBE_IOC_KEEP, &request);
    }

    /// The kernel's own kprobe with the counting program, as a perf event or a link.
    Fd kernels(bool link) const {
        perf_event_attr attr = {};
        attr.size = sizeof attr;
        std::ifstream("/sys/bus/event_source/devices/kprobe/type") >> attr.type;
        attr.config1 = reinterpret_cast<uintptr_t>(kGetpgid);
        Fd event(static_cast<int>(
            syscall(SYS_perf_event_open, &attr, -1, 0, -1, uint64_t{PERF_FLAG_FD_CLOEXEC})));
        if (link) return Fd(bpf_link_create(counter(), event.get(), BPF_PERF_EVENT, nullptr));
        return ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, counter()) == 0 ? std::move(event) : Fd();
    }
    /// How many of so many calls the program sees.
    uint64_t seen(unsigned calls) const {
        const uint64_t before = counted();
        call_getpgid(calls);
        return counted() - before;
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
    EXPECT_EQ(probe.enable(true), -ENXIO) << "they do not come back";
    EXPECT_EQ(probe.enable(false), 0);
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

TEST_F(Event, EndsTheFileThatItsProbesKeepBeforeCloseReturns) {
    for (const bool link : {false, true}) {
        const Probe probe = device_.must_attach(at(kGetpgid));
        ASSERT_EQ(probe.enable(false), 0);
        Fd event = make();
        ASSERT_EQ(hold(event, probe.fd()), 0);
        Fd file = kernels(link);
        ASSERT_TRUE(file) << errno;
        ASSERT_EQ(keep(probe.fd(), file.get()), 0);
        file.reset();
        EXPECT_EQ(seen(5), 5u);
        event.reset();
        EXPECT_EQ(seen(100), 0u) << "link: " << link;
        EXPECT_EQ(keep(probe.fd(), kernels(link).get()), -ENXIO) << "the event is closed";
        EXPECT_EQ(seen(100), 0u);
    }
}

TEST_F(Event, KeepsAFileAlsoWithoutTheProbeFdAndWithoutAnEvent) {
    Probe probe = device_.must_attach(at(kGetpgid));
    ASSERT_EQ(probe.enable(false), 0);
    ASSERT_EQ(keep(probe.fd(), kernels(false).get()), 0);
    EXPECT_EQ(seen(5), 5u);
    EXPECT_EQ(keep(probe.fd(), kernels(true).get()), 0);
    EXPECT_EQ(seen(5), 5u) << "one takes the place of the other";
    Fd event = make();
    EXPECT_EQ(keep(event.get(), kernels(false).get()), -ENOTTY) << "it holds no probes";
    ASSERT_EQ(hold(event, probe.fd()), 0);
    EXPECT_EQ(keep(event.get(), kernels(false).get()), 0);
    probe.detach();
    EXPECT_EQ(seen(5), 5u);
    event.reset();
    EXPECT_EQ(seen(100), 0u);
    Probe alone = device_.must_attach(at(kGetpgid));
    ASSERT_EQ(alone.enable(false), 0);
    ASSERT_EQ(keep(alone.fd(), kernels(false).get()), 0);
    EXPECT_EQ(seen(5), 5u);
    alone.detach();
    EXPECT_EQ(seen(100), 0u);
}

TEST_F(Event, KeepsNoOtherFileThanAPerfEventOrALink) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    const Fd event = make();
    ASSERT_EQ(hold(event, probe.fd()), 0);
    for (const int file : {probe.fd(), event.get(), device_.fd(), counter(), 0, -1})
        EXPECT_EQ(keep(probe.fd(), file), -EBADF) << file;
}

}  // namespace
}  // namespace djprobe::vm
