// SPDX-License-Identifier: GPL-2.0
// A site whose detour counts, on the real CPU.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "support/detoured.h"
#include "support/direct.h"

namespace djprobe::test {

inline constexpr x86::Live kAllLive = {x86::kCallerSaved, true, false};
inline constexpr x86::Live kNothingLive = {0, false, false};

/// Flags and some registers, by chance.
inline x86::Live random_live(std::mt19937_64& random) {
    return {static_cast<x86::RegisterSet>(random() & random() & x86::kCallerSaved),
            random() % 2 == 0, false};
}

/// A function whose only site is its start; it does nothing.
inline const Bytes& plain() {
    static const Bytes code = CODE("nop dword ptr [rax + rax]; jmp " ARENA_EXIT);
    return code;
}

class CountFixture : public testing::TestWithParam<Arena::Place> {
  protected:
    /// A counter that a displacement from %gs reaches, or one that it does not reach.
    x86::CountConfig config(bool far, bool lahf = true) {
        x86::DirectConfig direct = direct_.config(0, 0);
        if (far) direct_.move_hits_away(direct);
        return {direct.hits, lahf, 0};
    }
    /// A call of a program that changes some registers, and reads nothing, all or some of them.
    x86::DirectConfig random_call(std::mt19937_64& random) {
        const x86::FieldSet kinds[] = {0, x86::kAllFields,
                                       static_cast<x86::FieldSet>(random() & x86::kAllFields)};
        return direct_.config(static_cast<x86::RegisterSet>(random() & x86::kCallerSaved),
                              kinds[random() % 3]);
    }
    u64 counted() const { return DirectBench::per_cpu().hits + DirectBench::far_hits(); }

    /// Write the jump to a detour that counts.
    void count_at(Detoured& site, const x86::CountConfig& config, const x86::Live& live) {
        Bytes bytes(x86::kMaxDetour, x86::kInt3);
        const Refusal refusal =
            emit_counting_detour(site.plan(), config, live, bench_.arena().slot(),
                                 {bytes.data(), bytes.size()}, layout_);
        write(site, refusal, bytes);
    }
    /// Or to one that calls a program.
    void program_at(Detoured& site, const x86::DirectConfig& config, const x86::Live& live) {
        Bytes bytes(x86::kMaxDetour, x86::kInt3);
        const Refusal refusal = emit_direct_detour(site.plan(), config, live, bench_.arena().slot(),
                                                   {bytes.data(), bytes.size()}, layout_);
        write(site, refusal, bytes);
    }
    void write(Detoured& site, Refusal refusal, const Bytes& detour) {
        ASSERT_EQ(refusal, Refusal());
        bench_.arena().write(bench_.arena().slot(), detour);
        site.write_jump_to(bench_.arena().slot() + layout_.entry);
        DirectBench::reset();
    }
    Machine run(const Machine& machine) { return bench_.run(machine, bench_.text()).machine; }

    /// How many instructions stand in front of the displaced ones.
    size_t instructions() {
        size_t count = 0;
        const u64 slot = bench_.arena().slot();
        for (u64 at = slot + layout_.call; at < slot + layout_.displaced; ++count) {
            x86::Insn insn;
            EXPECT_TRUE(decode({reinterpret_cast<const u8*>(at), x86::kMaxInsnLength}, at, insn));
            at = insn.end();
        }
        return count;
    }

    Bench bench_{GetParam()};
    DirectBench direct_{bench_};
    x86::DetourLayout layout_;
};

/// "Low" or "High", as the arena lies.
inline std::string place_name(const testing::TestParamInfo<Arena::Place>& info) {
    return info.param == Arena::Place::Low ? "Low" : "High";
}

}  // namespace djprobe::test
