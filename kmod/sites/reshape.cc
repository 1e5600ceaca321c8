// SPDX-License-Identifier: GPL-2.0
// A site's code follows its handlers.
#include "sites.h"
#include "text_checks.h"

namespace djprobe::kmod {
namespace {

/// A slot that its site no longer uses, with the trap of the int3 in it, if there is one.
struct OldSlot : Discarded {
    ~OldSlot() {
        if (!table) return;
        KernelText text;
        table->remove(bypass);
        text.sync_cores();
    }
    Slot slot;
    djk_trap bypass{};
    SiteTable* table = nullptr;
};

}  // namespace

/// What the site's code should be made for: its handlers, the members that have joined, and
/// `joining`. Code that may be in the text holds no work of a member that is not linked: that one
/// may take its joining back.
Shape Sites::wanted_shape(const Site& site, const djk_handler* joining) {
    Shape shape;
    shape.wants = site.joining_wants;
    const djk_handler* handlers[kMostHeld];
    size_t count = 0;
    const auto take = [&](const djk_handler* handler) {
        if (count < kMostHeld) handlers[count] = handler;
        ++count;
        shape.wants |= handler->wants;
    };
    for (const djk_handler* handler = site.hit.handlers; handler; handler = handler->next)
        take(handler);
    const bool joins_others = joining && count > 0;
    if (joining) take(joining);
    if (!site.plan.may_jump() || site.joining || joins_others || !count || count > kMostHeld)
        return shape;
    const bool holds = !shape.wants && code_.may_hold({handlers, count});
    shape.front = !holds && count == 1 && CodeBuilder::has_front(handlers[0]);
    // Other code keeps all registers.
    if (!holds && !shape.front) return shape;
    shape.hold({handlers, count});
    shape.kept = kept_besides(site.live, site.address());
    return shape;
}

/// A member has left. Where the code cannot follow, because memory is short or another patcher has
/// written over its jump, it still does the work of that member: then an int3 leads hits from the
/// detour to the list, until the optimizer has tried again.
void Sites::reshape_without(Site& site) {
    // Other code has nothing of a single handler: at worst it keeps more than it must.
    if (!reshape(site, nullptr) || !site.code.shape.holds()) return;
    {
        KernelText text;
        bypass_held(text, site);
    }
    unshaped_ = true;
    djk_optimizer_kick_later();
}

/// Let hits at the int3 continue in the site's code.
void Sites::lead_to_code(Site& site) {
    site.hit.trap.site = &site.hit;
    set_resume(site, site.out_of_line());
    // The anchor keeps its link: a hit that began before it left the table may stand on it.
    site.anchor.address = site.plan.anchor;
    site.anchor.resume = site.slides() ? site.code.entry() : 0;
}

/// Replace the site's code by what its handlers, with `joining`, want now. A jump gives way to
/// int3, and comes back by settle(). A refusal changes nothing.
Refusal Sites::reshape(Site& site, const djk_handler* joining) {
    if (site.joins_kprobe()) return {};
    SiteCode code;
    code.shape = wanted_shape(site, joining);
    if (code.shape == site.code.shape) return {};
    Box<OldSlot> old = Box<OldSlot>::create();
    if (!old) return Refusal{Reason::NO_MEMORY};
    const x86::Plan plan = site.plan.expand();
    if (const Refusal refusal = code_.build({plan, site.live, site.hit}, code)) return refusal;
    code_.flush();
    if (is_live(site.state)) {
        KernelText text;
        if (const Refusal refusal = check_written(text, site)) return refusal;
        text.sync_cores();
        if (site.wants_jump()) back_to_int3(text, site);
        if (site.bypassed) {
            // A task that was preempted right before the int3 must still find its trap.
            old->bypass = site.bypass;
            old->table = &table_;
            table_.insert(old->bypass);
            table_.remove(site.bypass);
            site.bypassed = false;
            // A hit may stand on the one that was removed, which the site may need again.
            text.sync_cores();
        }
    }
    old->slot = static_cast<Slot&&>(site.code.slot);
    site.code = static_cast<SiteCode&&>(code);
    lead_to_code(site);
    reclaimer_.add(static_cast<Box<OldSlot>&&>(old));
    return {};
}

}  // namespace djprobe::kmod
