// SPDX-License-Identifier: GPL-2.0
// A disabled probe's site holds its original bytes; enabling decides anew.
#include <sys/ioctl.h>

#include <cerrno>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

using Enable = ProbeTest;

TEST_F(Enable, DisabledMeansOriginalBytesAndNoHits) {
    for (const djprobe_mode mode : {DJPROBE_MODE_AUTO, DJPROBE_MODE_INT3}) {
        const Probe probe = device_.must_attach(at(kGetpgid, 0, mode));
        expect_mechanism(probe, mode);
        call_getpgid(5);
        EXPECT_EQ(probe.enable(false), 0);
        EXPECT_EQ(probe.enable(false), 0) << "twice is no error";
        call_getpgid(100);
        djprobe_query query = probe.settle();
        EXPECT_EQ(query.hits, 5u);
        EXPECT_EQ(query.state, DJPROBE_STATE_DISARMED);
        EXPECT_EQ(query.mechanism, DJPROBE_MECHANISM_NONE);
        EXPECT_EQ(query.reason, DJPROBE_REASON_DISABLED);
        EXPECT_EQ(probe.enable(true), 0);
        EXPECT_EQ(probe.enable(true), 0);
        expect_mechanism(probe, mode);
        call_getpgid(7);
        EXPECT_EQ(probe.hits(), 12u) << "counters go on";
    }
}

TEST_F(Enable, OthersOnTheSiteGoOn) {
    const Probe one = device_.must_attach(at(kGetpgid));
    const Probe two = device_.must_attach(at(kGetpgid));
    EXPECT_EQ(one.enable(false), 0);
    expect_mechanism(two, DJPROBE_MODE_AUTO);
    call_getpgid(10);
    EXPECT_EQ(one.hits(), 0u);
    EXPECT_EQ(two.hits(), 10u);
    EXPECT_EQ(two.enable(false), 0);
    EXPECT_EQ(one.enable(true), 0);
    call_getpgid(10);
    EXPECT_EQ(one.hits(), 10u);
    EXPECT_EQ(two.hits(), 10u);
}

TEST_F(Enable, ADisabledInt3ProbeDoesNotHoldTheJump) {
    const Probe jump = device_.must_attach(at(kGetpgid));
    const Probe int3 = device_.must_attach(at(kGetpgid, 0, DJPROBE_MODE_INT3));
    EXPECT_EQ(jump.settle().mechanism, DJPROBE_MECHANISM_INT3);
    EXPECT_EQ(int3.enable(false), 0);
    EXPECT_EQ(jump.settle().mechanism, DJPROBE_MECHANISM_JUMP);
    EXPECT_EQ(int3.enable(true), 0);
    EXPECT_EQ(jump.settle().mechanism, DJPROBE_MECHANISM_INT3);
}

TEST_F(Enable, DetachingADisabledProbeIsNoMatter) {
    Probe probe = device_.must_attach(at(kGetpgid));
    EXPECT_EQ(probe.enable(false), 0);
    probe.detach();
    const Probe again = device_.must_attach(at(kGetpgid));
    expect_mechanism(again, DJPROBE_MODE_AUTO);
}

TEST_F(Enable, TakesPartInAKprobeThatHasComeMeanwhile) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    probe.settle();
    EXPECT_EQ(probe.enable(false), 0);
    const Object kernel{"count"};
    const djprobe_query query = probe.query();
    Object::Link link = kernel.kernel_kprobe("on_hit", kGetpgid, query.offset, 0);
    ASSERT_TRUE(link);
    EXPECT_EQ(probe.enable(true), 0);
    EXPECT_EQ(probe.query().reason, static_cast<uint32_t>(DJPROBE_REASON_SHARED_KPROBE));
    EXPECT_EQ(call_getpgid(50), 0u);
    EXPECT_EQ(probe.hits(), 50u);
    EXPECT_EQ(kernel.sum("count", 0), 50u);
    link.reset();
    EXPECT_EQ(call_getpgid(50), 0u);
    EXPECT_EQ(probe.hits(), 100u);
    EXPECT_EQ(probe.enable(false), 0);
    EXPECT_EQ(probe.enable(true), 0);
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
}

TEST_F(Enable, UnderLoadEveryHitIsCounted) {
    const Probe always = device_.must_attach(at(kGetpgid));
    const Probe sometimes = device_.must_attach(at(kGetpgid));
    Load load(2);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(sometimes.enable(i % 2), 0);
        if (i % 3 == 0) sometimes.settle();
    }
    load.stop();
    EXPECT_EQ(load.wrong(), 0u);
    const djprobe_query query = always.query();
    EXPECT_GT(load.calls(), 0u);
    EXPECT_EQ(query.hits + missed(query), load.calls());
    const uint64_t before = sometimes.hits();
    EXPECT_LE(before, load.calls());
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(sometimes.hits(), before + 10) << "it was enabled last";
}

TEST_F(Enable, TheArgumentIsChecked) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    djprobe_enable request = {};
    request.size = sizeof request;
    request.enable = 2;
    EXPECT_EQ(call_ioctl(probe.fd(), DJPROBE_IOC_ENABLE, &request), -EINVAL);
    EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_ENABLE, &request), -ENOTTY);
}

}  // namespace
}  // namespace djprobe::vm
