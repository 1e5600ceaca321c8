// SPDX-License-Identifier: GPL-2.0
#include "support/detoured.h"

#include "support/printers.h"

namespace djprobe::test {

namespace {

Refusal plan_of(u64 text, const Bytes& code, size_t offset, x86::Plan& plan) {
    x86::Snapshot snapshot;
    snapshot.site = text + offset;
    snapshot.function = {text, view(code)};
    snapshot.tactics = x86::kAllTactics;
    const Refusal refusal = x86::make_plan(snapshot, plan);
    return refusal ? refusal : plan.jump;
}

}  // namespace

bool Detoured::is_possible(const Bench& bench, const Bytes& code, size_t offset) {
    x86::Plan plan;
    return !plan_of(bench.text(), code, offset, plan);
}

Detoured::Detoured(Bench& bench, const Bytes& code, size_t offset, bool smap)
    : bench_(bench), slot_(bench.arena().slot()), code_end_(bench.text() + code.size()) {
    bench.put(code);
    EXPECT_EQ(plan_of(bench.text(), code, offset, plan_), Refusal());

    x86::DetourConfig config = bench.detour_config();
    config.smap = smap;
    Bytes bytes(x86::kMaxDetour, x86::kInt3);
    EXPECT_EQ(x86::emit_detour(plan_, config, slot_, {bytes.data(), bytes.size()}, layout_),
              Refusal());
    bench.arena().write(slot_, bytes);
    make_patches(entry());
}

void Detoured::make_patches(u64 entry) {
    EXPECT_EQ(x86::make_jump_site(plan_, entry, patch_), Refusal());
    if (plan_.tactic == x86::Tactic::Springboard) {
        EXPECT_EQ(x86::make_board(plan_, entry, board_), Refusal());
    }
}

void Detoured::write_jump_to(u64 entry) {
    make_patches(entry);
    write_jump();
}

void Detoured::write_jump() {
    bench_.arena().write(board_.address, {board_.jump, board_.length});
    bench_.arena().write(patch_.address, {patch_.jump, patch_.length});
}

void Detoured::write_original() {
    // Not the patch's original: a slide's has the int3 of the IA in it.
    bench_.arena().write(plan_.anchor, {plan_.region.bytes, plan_.region.length});
    bench_.arena().write(board_.address, {board_.original, board_.length});
}

bool Detoured::reaches_site(const Machine& start, Machine& at_site) {
    // Two bytes at the site, the rest behind the code: a way past the site may be close to it.
    Bytes brief(2), jump(5);
    x86::Emitter out({brief.data(), brief.size()}, site());
    out.short_jump(code_end_);
    x86::Emitter far({jump.data(), jump.size()}, code_end_);
    far.jump(bench_.text() + Bench::kReached);
    EXPECT_TRUE(out.ok() && far.ok());
    bench_.arena().write(code_end_, jump);
    const auto* const text = reinterpret_cast<const u8*>(site());
    const Bytes was(text, text + brief.size());
    bench_.arena().write(site(), brief);
    const Outcome outcome = bench_.run(start, bench_.text());
    bench_.arena().write(site(), was);
    at_site = outcome.machine;
    return Bench::word(outcome, Bench::kReachedMark) == 1;
}

void Detoured::expect_hit(const Machine& at_site) {
    const Hit& hit = last_hit();
    const x86::Frame& frame = hit.frame;
    EXPECT_EQ(hit.count, 1u);
    const Machine seen{.registers = {frame.ax, frame.cx, frame.dx, frame.bx, frame.sp, frame.bp,
                                     frame.si, frame.di, frame.r8, frame.r9, frame.r10, frame.r11,
                                     frame.r12, frame.r13, frame.r14, frame.r15},
                       .flags = frame.flags};
    EXPECT_EQ(difference(seen, at_site), "");
    EXPECT_EQ(frame.ip, site());
    EXPECT_EQ(frame.cs, kCs);
    EXPECT_EQ(frame.ss, kSs);
    EXPECT_EQ(frame.orig_ax, ~0ul);
    EXPECT_EQ(hit.argument, kArgument);
    EXPECT_EQ(hit.flags & kDirection, 0u);
    EXPECT_EQ(hit.saved_bp, at_site[Machine::BP]);
    EXPECT_EQ(hit.return_address, site() + 1);
    EXPECT_EQ(hit.record_address, at_site[Machine::SP] - 16);
}

void Detoured::expect_same(const Machine& machine) {
    Machine at_site;
    const bool reaches = reaches_site(machine, at_site);
    const Outcome original = bench_.run(machine, bench_.text());

    write_jump();
    last_hit() = Hit{};
    EXPECT_TRUE(same(bench_.run(machine, bench_.text()), original)) << "through the detour";
    if (!reaches) {
        EXPECT_EQ(last_hit().count, 0u);
        return write_original();
    }
    expect_hit(at_site);

    // Where an int3 hit resumes once the jump is (being) written, and before.
    const Outcome from_site = (write_original(), bench_.run(at_site, site()));
    write_jump();
    EXPECT_TRUE(same(bench_.run(at_site, displaced()), from_site)) << "from the displaced";
    write_original();
    EXPECT_TRUE(same(bench_.run(at_site, out_of_line()), from_site)) << "out of line";
}

}  // namespace djprobe::test
