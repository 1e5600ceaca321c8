// SPDX-License-Identifier: GPL-2.0
// The handler's registers. Needs randomize_kstack_offset=off: only then two equal system calls
// of a thread see equal stack pointers.
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
            EXPECT_EQ(one.regs[i], other.regs[i]) << kNames[i];
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

}  // namespace
}  // namespace djprobe::vm
