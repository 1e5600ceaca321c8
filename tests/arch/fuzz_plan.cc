// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes as a function, any of them as the site. Nothing may crash, and whatever is
// planned must keep the promises of the headers.
#include <cstdio>
#include <cstdlib>

#include "arch/x86/detour.h"
#include "arch/x86/patch.h"
#include "arch/x86/scan.h"

namespace {

using namespace djprobe;
using namespace djprobe::x86;

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

constexpr u64 kText = 0xffffffff81000000;
constexpr u64 kSlot = kText + 0x100000;

/// What the input's first bytes decide; the rest is the function.
struct Input {
    u8 site;
    u8 landing;
    u8 reserved;
    u8 flags;
};

void check_region(const Plan& plan, const Snapshot& snapshot) {
    const Region& region = plan.region;
    require(region.length >= kJumpLength && region.length <= kMaxRegion, "region length");
    require(region.count >= 1 && region.count <= kJumpLength, "region count");
    const Span<const u8> text = snapshot.function.from(plan.site);
    require(text.size() >= region.length, "region within the function");
    for (size_t i = 0; i < region.length; ++i)
        require(region.bytes[i] == text[i], "region bytes are the text's");
    u64 at = plan.site;
    for (const Insn& insn : region.all()) {
        require(insn.address == at, "region without gaps");
        at = insn.end();
    }
    const Range inside = {plan.site + 1, plan.site + region.length};
    for (const Landing& landing : snapshot.landings)
        require(!inside.contains(landing.target), "no landing inside");
    for (const Reserved& reserved : snapshot.reserved)
        require(!reserved.range.overlaps({plan.site, plan.site + region.length}), "none reserved");
    // The whole function must decode, or nothing is known of its branches.
    for (u64 from = snapshot.function.address; from < snapshot.function.range().end;) {
        Insn insn;
        require(decode(snapshot.function.from(from), from, insn), "scannable");
        require(!insn.rel_size || !inside.contains(insn.target), "no branch inside");
        from = insn.end();
    }
}

/// Every branch of the copy leads where a displaced one leads, behind the region, or stays.
void check_copy(const Code& copy, Span<const Insn> insns, u64 behind) {
    for (u64 at = copy.address; at < copy.range().end;) {
        Insn insn;
        require(decode(copy.from(at), at, insn), "copy decodes");
        bool known = !insn.rel_size || insn.target == behind || copy.range().contains(insn.target);
        for (const Insn& original : insns)
            known |= original.rel_size && insn.target == original.target;
        require(known, "branch of the copy");
        at = insn.end();
    }
}

void check_detour(const Plan& plan) {
    static u8 buffer[kMaxDetour];
    const DetourConfig config = {
        .handler = kSlot + 0x1000, .argument = 1, .cs = 0x10, .ss = 0x18, .smap = true};
    DetourLayout layout;
    if (const Refusal refusal = emit_detour(plan, config, kSlot, buffer, layout)) {
        require(refusal.reason == Reason::OUT_OF_REACH, "only reach may fail a detour");
        return;
    }
    require(layout.size <= kMaxDetour && layout.displaced < layout.size, "layout");
    const bool one = layout.out_of_line == layout.displaced;
    require(one == (plan.region.count == 1), "copies of one instruction are one");
    const Code code = {kSlot, {buffer, layout.size}};
    const size_t end = one ? layout.size : layout.out_of_line;
    check_copy(
        {kSlot + layout.displaced, code.bytes.from(layout.displaced).first(end - layout.displaced)},
        plan.region.all(), plan.region.last().end());
    PatchSite site;
    require(!make_jump_site(plan, kSlot + layout.entry, site), "jump reaches the slot");
}

void check_out_of_line(const Plan& plan) {
    static u8 buffer[kMaxDetour];
    DetourLayout layout;
    if (emit_out_of_line(plan, kSlot, buffer, layout)) return;
    check_copy({kSlot, {buffer, layout.size}}, {&plan.first, 1}, plan.first.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
    if (size < sizeof(Input)) return 0;
    const Input input = {data[0], data[1], data[2], data[3]};
    const Landing landing = {Reason::POINTER_INTO_REGION, 0, kText + input.landing};
    const Reserved reserved = {{kText + input.reserved, kText + input.reserved + 1},
                               Reason::JUMP_LABEL};
    Snapshot snapshot;
    snapshot.site = kText + input.site;
    snapshot.function = {kText, {data + sizeof(Input), size - sizeof(Input)}};
    if (input.flags & 1) snapshot.landings = {&landing, 1};
    if (input.flags & 2) snapshot.reserved = {&reserved, 1};
    snapshot.no_jump_tables = input.flags & 4;
    snapshot.indirect_thunks = {kText + 0x1000, kText + 0x2000};

    Plan plan;
    if (make_plan(snapshot, plan)) return 0;
    require(plan.first.address == snapshot.site, "the site is an instruction");
    check_out_of_line(plan);
    if (!plan.may_jump()) return 0;
    check_region(plan, snapshot);
    check_detour(plan);
    return 0;
}
