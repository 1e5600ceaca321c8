// SPDX-License-Identifier: GPL-2.0
// What a handler sees at one place, by each of the ways to get there.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include "../../bpf/observe.h"
#include "fixture.h"

namespace djprobe::vm {

/// Where an observation has the registers, by their numbers in instructions.
inline constexpr int kFieldsByNumber[DJPROBE_REGS] = {
    10, 11, 12, 5, OBSERVE_SP, 4, OBSERVE_SI, OBSERVE_DI, 9, 8, 7, 6, 3, 2, 1, 0};

/// observe.bpf.c, watching this process.
class ObserverTest : public ProbeTest {
  protected:
    ObserverTest() {
        // The object's only global variable.
        object_.set<uint32_t>("observe.bss", 0, static_cast<uint32_t>(getpid()));
    }
    Request observed(const std::string& symbol, uint64_t offset, djprobe_mode mode,
                     uint64_t cookie) const {
        Request request = at(symbol, offset, mode);
        request.prog_fd = object_.program("observe");
        request.cookie = cookie;
        return request;
    }
    observation seen(uint64_t cookie) const {
        return object_.get<observation>("observations", static_cast<uint32_t>(cookie));
    }
    void forget(uint64_t cookie) const {
        object_.set("observations", static_cast<uint32_t>(cookie), observation{});
    }
    /// The observation of one pread by a probe of ours. Here and there a site has no jump, with
    /// address space randomization not the same ones in each boot: jumps() tells.
    observation by_probe(const std::string& symbol, uint64_t offset, djprobe_mode mode) {
        const Probe probe = device_.must_attach(observed(symbol, offset, mode, 1));
        const bool jump = probe.settle().mechanism == DJPROBE_MECHANISM_JUMP;
        EXPECT_TRUE(!jump || mode == DJPROBE_MODE_AUTO);
        asked_ += mode == DJPROBE_MODE_AUTO;
        jumps_ += jump;
        return once();
    }
    /// The same by a kprobe of the kernel, the reference.
    observation by_kernel(const std::string& symbol, uint64_t offset) {
        const Object::Link link = object_.kernel_kprobe("observe", symbol, offset, 1);
        EXPECT_TRUE(link) << symbol << "+" << offset;
        return once();
    }
    /// Whether a pread comes by at all: a kernel without security modules has its copy of
    /// rw_verify_area() within vfs_read().
    bool is_called(const char* symbol) {
        const Probe probe = device_.must_attach(at(symbol));
        EXPECT_EQ(reader_.read(1), 0u);
        return probe.hits() > 0;
    }
    const Object& object() const { return object_; }
    void TearDown() override {
        // Else the comparisons would be of int3 with itself.
        EXPECT_GE(jumps_ * 2, asked_) << "too few sites with a jump";
    }

    Reader reader_;

  private:
    observation once() {
        forget(1);
        EXPECT_EQ(reader_.read(1), 0u);
        const observation observed = seen(1);
        EXPECT_EQ(observed.hits, 1u);
        return observed;
    }

    int asked_ = 0, jumps_ = 0;
    Object object_{"observe"};
};

}  // namespace djprobe::vm
