// SPDX-License-Identifier: GPL-2.0
// A site in all its forms, in a text that the journaling port writes.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "support/printers.h"
#include "support/protocol_checker.h"
#include "support/scene.h"

namespace djprobe::test {

inline constexpr u64 kEntry = kText + 0x100000;

/// A site at the start of `code`, and all its forms.
struct PatchedScene {
    Bytes code;
    x86::Plan plan;
    x86::PatchSite site;
    std::vector<size_t> inner;
    JournalPort port;
    std::array<const x86::PatchSite*, 1> batch;

    explicit PatchedScene(const Bytes& bytes)
        : code(bytes), plan(Scene(bytes).plan(0)), port(kText, bytes), batch{&site} {
        EXPECT_EQ(plan.jump, Refusal());
        EXPECT_EQ(x86::make_jump_site(plan, kEntry, site), Refusal());
        for (size_t i = 1; i < plan.region.count; ++i)
            inner.push_back(plan.region.insns[i].address - kText);
    }
    // `batch` points into the object.
    PatchedScene(const PatchedScene&) = delete;

    std::string violation() const { return ProtocolChecker(site, inner).check(port.steps()); }

    /// What a caller of the protocol does, by the header's steps 1 to 7.
    void to_jump() {
        arm(port, batch);
        port.resume_behind(kText);
        // A task may be preempted between two displaced instructions.
        if (plan.region.count > 1) port.quiescence();
        optimize(port, batch);
    }
    /// Steps 8 to 13.
    void to_original() {
        unoptimize(port, batch);
        port.resume_first(kText);
        disarm(port, batch);
    }
};

}  // namespace djprobe::test
