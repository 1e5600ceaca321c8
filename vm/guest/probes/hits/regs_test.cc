// SPDX-License-Identifier: GPL-2.0
// The handler's registers. Needs randomize_kstack_offset=off: only then two equal system calls
// of a thread see equal stack pointers.
#include <asm/processor-flags.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "../harness/kprobe_event.h"
#include "../harness/observer.h"

namespace djprobe::vm {
namespace {

constexpr const char* kNames[OBSERVE_REGS] = {"r15", "r14",     "r13", "r12", "bp",    "bx", "r11",
                                              "r10", "r9",      "r8",  "ax",  "cx",    "dx", "si",
                                              "di",  "orig_ax", "ip",  "cs",  "flags", "sp", "ss"};

class Regs : public ObserverTest {
  protected:
    /// `but`: a register that may differ.
    static void expect_equal(const observation& one, const observation& other, int but = -1) {
        for (int i = 0; i < OBSERVE_REGS; ++i) {
            if (i == but) continue;
            // With RF a CPU goes on after a fault. It is no state of the code, and not of each hit.
            const uint64_t mask = i == OBSERVE_FLAGS ? ~uint64_t{X86_EFLAGS_RF} : ~uint64_t{0};
            EXPECT_EQ(one.regs[i] & mask, other.regs[i] & mask) << kNames[i];
        }
    }
};

TEST_F(Regs, AtTheEntryTheyHoldTheArguments) {
    for (const djprobe_mode mode : kBothModes) {
        const observation seen = by_probe("vfs_read", 0, mode);
        const Probe probe = device_.must_attach(at("vfs_read", 0, mode));
        EXPECT_EQ(seen.regs[OBSERVE_IP], probe.query().address);
        EXPECT_EQ(seen.regs[OBSERVE_SI], reinterpret_cast<uint64_t>(reader_.buffer()));
        EXPECT_EQ(seen.regs[OBSERVE_DX], Reader::kSize);
        // A file in the direct map, the position on this thread's stack.
        EXPECT_GE(seen.regs[OBSERVE_DI], 0xff00000000000000u);
        EXPECT_GT(seen.regs[OBSERVE_CX], seen.regs[OBSERVE_SP]);
        EXPECT_LT(seen.regs[OBSERVE_CX], seen.regs[OBSERVE_SP] + 4096);
        EXPECT_EQ(seen.regs[OBSERVE_SP] % 8, 0u);
        EXPECT_EQ(seen.regs[OBSERVE_CS], 0x10u);
        EXPECT_EQ(seen.regs[OBSERVE_SS], 0x18u);
        EXPECT_EQ(seen.regs[OBSERVE_ORIG_AX], ~uint64_t{0});
        EXPECT_NE(seen.regs[OBSERVE_FLAGS] & 0x200, 0u) << "interrupts are on there";
    }
}

TEST_F(Regs, BothMechanismsShowTheSameAsTheKernelsOwnKprobe) {
    for (const char* symbol : {"vfs_read", "__x64_sys_pread64", "rw_verify_area"}) {
        if (!is_called(symbol)) continue;
        std::vector<uint64_t> offsets;
        for (const Probe& probe : attach_everywhere(device_, counter(), symbol, 14))
            offsets.push_back(probe.query().offset);
        for (size_t i = 0; i < offsets.size(); i += i ? 3 : 1) {
            SCOPED_TRACE(symbol + ("+" + std::to_string(offsets[i])));
            const observation int3 = by_probe(symbol, offsets[i], DJPROBE_MODE_INT3);
            // It takes the IP behind its int3.
            expect_equal(int3, by_kernel(symbol, offsets[i]), OBSERVE_IP);
            expect_equal(int3, by_probe(symbol, offsets[i], DJPROBE_MODE_AUTO));
            EXPECT_EQ(int3.regs[OBSERVE_IP], address_of(symbol) + offsets[i]);
        }
    }
    EXPECT_TRUE(is_called("vfs_read"));
}

/// A function of known.ko: two instructions in it at which rdi still holds its argument, which
/// nothing needs any more.
class DeadArgument : public ObserverTest {
  protected:
    DeadArgument() {
        const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 8};
        for (const Probe& probe : attach_everywhere(device_, counter(), kFunction, 100)) {
            const djprobe_query site = probe.query();
            if (std::equal(std::begin(nop), std::end(nop), site.displaced))
                places_.push_back(site.offset);
        }
        EXPECT_EQ(places_.size(), 2u);
    }
    /// The module rebuilds a detour, behind an int3, some milliseconds after it has seen a kprobe
    /// of the kernel come or go, be it one of the test before.
    static void expect_jump(const Probe& probe) {
        int tries = 0;
        while (probe.settle().mechanism != DJPROBE_MECHANISM_JUMP && ++tries < 100)
            usleep(10000);
        EXPECT_LT(tries, 100);
    }
    Probe attach_first() const {
        Probe probe = device_.must_attach(at(kFunction, places_.at(0)));
        expect_jump(probe);
        return probe;
    }
    Probe attach_reader(size_t place) const {
        return device_.must_attach(
            observed(kFunction, places_.at(place), DJPROBE_MODE_AUTO, kReader));
    }
    /// A kprobe of the kernel at the second place.
    Object::Link attach_theirs() const {
        Object::Link link =
            object().kernel_kprobe("observe", "argument_lasts", places_.at(1), kReader);
        EXPECT_TRUE(link);
        return link;
    }
    void expect_seen() const {
        for (const uint64_t argument : {3, 4}) {
            std::ofstream("/sys/module/known/parameters/run") << argument + 1;
            EXPECT_EQ(seen(kReader).regs[OBSERVE_DI], argument);
        }
    }
    /// See expect_jump(). Behind an int3 it is always seen, also before code that destroys it.
    void wait_until_seen(const Probe& first) const {
        for (int tries = 0; tries < 200; ++tries) {
            expect_jump(first);
            std::ofstream("/sys/module/known/parameters/run") << 8;
            if (seen(kReader).regs[OBSERVE_DI] == 7) return;
            usleep(10000);
        }
    }
    void TearDown() override {}

    static constexpr uint64_t kReader = 2;
    static constexpr const char* kFunction = "known:argument_lasts";
    std::vector<uint64_t> places_;
};

TEST_F(DeadArgument, IsThereForAHandlerBehindAnotherProbe) {
    const Probe reader = attach_reader(1);
    const Probe first = attach_first();
    expect_seen();
}

TEST_F(DeadArgument, IsThereForAHandlerThatComesLater) {
    const Probe first = attach_first();
    Probe reader = attach_reader(1);
    EXPECT_EQ(reader.settle().mechanism, uint32_t{DJPROBE_MECHANISM_JUMP});
    EXPECT_EQ(first.settle().mechanism, uint32_t{DJPROBE_MECHANISM_JUMP});
    expect_seen();
    // Another one at the same place, which reads it alone then.
    const Probe second = attach_reader(1);
    reader.detach();
    first.settle();
    expect_seen();
}

TEST_F(DeadArgument, IsThereInAModuleThatIsLoadedAgain) {
    Probe gone = attach_reader(1);
    ASSERT_EQ(std::system("rmmod known && insmod $KNOWN"), 0);
    const Probe first = attach_first();
    const Probe reader = attach_reader(1);
    gone.detach();
    first.settle();
    expect_seen();
}

TEST_F(DeadArgument, AKprobeOnAnotherJumpKeepsNoHandlerAway) {
    const Probe first = attach_first();
    KprobeEvent theirs("dead_argument");
    ASSERT_EQ(theirs.add(first.query().address), 0);
    ASSERT_EQ(theirs.enable(true), 0);
    EXPECT_TRUE(attach_reader(1));
}

TEST_F(DeadArgument, IsThereForAKprobeOfTheKernelThatComesLater) {
    Probe first = attach_first();
    for (int i = 0; i < 2; ++i) {
        const Object::Link link = attach_theirs();
        wait_until_seen(first);
        expect_jump(first);
        expect_seen();
        // A detour that is made while the kprobe is there keeps the register from the beginning.
        first.detach();
        first = attach_first();
        expect_seen();
    }
}

TEST_F(DeadArgument, IsThereForALateKprobeWhenOneOfTwoProbesLeaves) {
    const Probe first = attach_first();
    for (const bool second_first : {true, false}) {
        Probe second;
        if (second_first) second = device_.must_attach(at(kFunction, places_.at(0)));
        first.settle();
        const Object::Link link = attach_theirs();
        wait_until_seen(first);
        if (!second_first) second = device_.must_attach(at(kFunction, places_.at(0)));
        second.detach();
        // With two probes nothing was destroyed: the module may see the kprobe only now.
        wait_until_seen(first);
        expect_jump(first);
        expect_seen();
    }
}

TEST_F(DeadArgument, IsThereForALateKprobeOnceAnotherOneHasLeftOurJump) {
    const Probe first = attach_first();
    auto on_our_jump = std::make_unique<KprobeEvent>("dead_argument");
    ASSERT_EQ(on_our_jump->add(first.query().address), 0);
    ASSERT_EQ(on_our_jump->enable(true), 0);
    const Object::Link link = attach_theirs();
    usleep(200000);
    ASSERT_EQ(on_our_jump->enable(false), 0);
    on_our_jump.reset();
    wait_until_seen(first);
    expect_seen();
}

TEST_F(DeadArgument, IsThereForAHandlerAtAPlaceThatCounts) {
    const Probe first = attach_first();
    const Probe counter = device_.must_attach(at(kFunction, places_.at(1)));
    const Probe reader = attach_reader(1);
    first.settle();
    expect_seen();
}

}  // namespace
}  // namespace djprobe::vm
