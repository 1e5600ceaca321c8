// SPDX-License-Identifier: GPL-2.0
#include "support/detoured.h"

#include "support/printers.h"

namespace djprobe::test {

Detoured::Detoured(Bench& bench, const Bytes& code, size_t offset, bool smap)
    : bench_(bench), slot_(bench.arena().slot()) {
    bench.put(code);
    x86::Snapshot snapshot;
    snapshot.site = bench.text() + offset;
    snapshot.function = {bench.text(), view(code)};
    EXPECT_EQ(x86::make_plan(snapshot, plan_), Refusal());
    EXPECT_EQ(plan_.jump, Refusal());

    x86::DetourConfig config = bench.detour_config();
    config.smap = smap;
    Bytes bytes(x86::kMaxDetour, x86::kInt3);
    EXPECT_EQ(x86::emit_detour(plan_, config, slot_, {bytes.data(), bytes.size()}, layout_),
              Refusal());
    EXPECT_EQ(x86::make_jump_site(plan_, entry(), patch_), Refusal());
    bench.arena().write(slot_, bytes);
}

Machine Detoured::machine_at_site(const Machine& start) {
    Bytes jump = {0xe9};
    const u32 distance = static_cast<u32>(bench_.exit() - (site() + 5));
    for (int shift = 0; shift < 32; shift += 8)
        jump.push_back(static_cast<u8>(distance >> shift));
    bench_.arena().write(site(), jump);
    const Machine machine = bench_.run(start, bench_.text()).machine;
    write_original();
    return machine;
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
    const Machine at_site = machine_at_site(machine);
    const Outcome original = bench_.run(machine, bench_.text());

    write_jump();
    last_hit() = Hit{};
    EXPECT_TRUE(same(bench_.run(machine, bench_.text()), original)) << "through the detour";
    expect_hit(at_site);

    // Where an int3 hit resumes once the jump is (being) written, and before.
    const Outcome from_site = (write_original(), bench_.run(at_site, site()));
    write_jump();
    EXPECT_TRUE(same(bench_.run(at_site, displaced()), from_site)) << "from the displaced";
    write_original();
    EXPECT_TRUE(same(bench_.run(at_site, out_of_line()), from_site)) << "out of line";
}

}  // namespace djprobe::test
