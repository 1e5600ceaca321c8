// SPDX-License-Identifier: GPL-2.0
#include "patched_text.h"

namespace djprobe::kmod {
namespace {

static_assert(x86::kMaxRegion <= DJK_PATCH_MAX && x86::kMaxInsnLength <= DJK_PATCH_MAX);

void show(djk_patch& patch, u64 address, Span<const u8> original) {
    patch = {};
    patch.original = original.data();
    patch.address = address;
    patch.length = static_cast<u8>(original.size());
    djk_show_patch(&patch);
}

void hide(djk_patch& patch) {
    if (!patch.length) return;
    djk_hide_patch(&patch);
    patch = {};
}

void set_ours(djk_patch& patch, Range ours, bool jump) {
    patch.ours_begin = static_cast<u8>(ours.begin - patch.address);
    patch.ours_end = static_cast<u8>(ours.end - patch.address);
    patch.jump = jump;
}

/// The bytes on which the kernel must put no kprobe of its own: the bytes that differ from the
/// original and, once hits at the IA's int3 continue behind the region, all that such a hit skips.
/// An int3 alone does not make the bytes around it ours.
Range bytes_of(const Site& site) {
    const Range ia = {site.address(), site.address() + 1};
    switch (site.state) {
        case State::Disarmed:
        case State::Gone:
            return {site.patch.address, site.patch.address};
        case State::Optimized:
            return site.region();
        case State::Optimizing:
            return site.quiescence == Quiescence::Running ? site.region() : ia;
        case State::Armed:
            return ia;
    }
    return {};
}

}  // namespace

void show_patch(KernelText&, Site& site) {
    const KeptPlan& plan = site.plan;
    if (site.joins_kprobe()) return;
    if (plan.may_jump())
        show(site.patch, plan.anchor, {plan.region.bytes, plan.region.length});
    else
        show(site.patch, plan.site, {plan.first_bytes, plan.first_length});
}

void update_patch(KernelText&, Site& site) {
    if (!site.patch.length) return;
    set_ours(site.patch, bytes_of(site), site.state == State::Optimized);
    if (site.board_entry && !site.board_patch.length) {
        show(site.board_patch, site.plan.board, site.plan.board_bytes);
        set_ours(site.board_patch, site.planned_board(), true);
    }
}

void hide_patch(KernelText&, Site& site) {
    hide(site.patch);
}

void hide_board(KernelText&, Site& site) {
    hide(site.board_patch);
}

void show_patch(KernelText&, RestingSite& resting) {
    show(resting.patch, resting.region().begin, resting.original());
    set_ours(resting.patch, resting.region(), true);
}

void hide_patch(KernelText&, RestingSite& resting) {
    djk_hide_patch(&resting.patch);
}

}  // namespace djprobe::kmod
