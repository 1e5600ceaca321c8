// SPDX-License-Identifier: GPL-2.0
#include "registry.h"

namespace djprobe::kmod {
namespace {

using x86::TextForm;

/// An int3 or a jump of ours is in the text.
bool is_live(State state) {
    return state != State::Disarmed && state != State::Gone;
}

void set_state(Site& site, State state) {
    // Waiters and hits look without the lock.
    __atomic_store_n(&site.state, state, __ATOMIC_RELEASE);
}

void set_resume(Site& site, u64 address) {
    __atomic_store_n(&site.trap.hit.resume, address, __ATOMIC_RELEASE);
}

void link(Site& site, djk_probe* handler) {
    djk_probe** tail = &site.hit.probes;
    while (*tail)
        tail = &(*tail)->next;
    __atomic_store_n(tail, handler, __ATOMIC_RELEASE);
}

void unlink(Site& site, djk_probe* handler) {
    djk_probe** link = &site.hit.probes;
    while (*link != handler)
        link = &(*link)->next;
    // The unlinked one keeps its own link: a hit that stands on it goes on.
    __atomic_store_n(link, handler->next, __ATOMIC_RELEASE);
}

/// Somebody else has changed the region: the int3 stays for good.
void give_up(Site& site, const Refusal& changed) {
    site.plan.jump = Refusal{Reason::TEXT_CHANGED, changed.detail[0]};
    site.hold = site.plan.jump;
    set_state(site, State::Armed);
}

void tell(const Refusal& refusal, djp_request& request) {
    request.reason = static_cast<unsigned int>(refusal.reason);
    request.detail[0] = refusal.detail[0];
    request.detail[1] = refusal.detail[1];
}

/// A list of one, as the patch protocol takes it.
struct One {
    const x86::PatchSite* site;
    const x86::PatchSite* const* begin() const { return &site; }
    const x86::PatchSite* const* end() const { return &site + 1; }
};

/// The patches that `pick(const Site&)` chooses from a list of sites (nullptr: not this one).
template <class Pick>
class Picked {
  public:
    Picked(const Site* first, Pick pick) : first_(first), pick_(pick) {}

    class Iterator {
      public:
        Iterator(const Site* site, const Pick& pick) : site_(site), pick_(pick) { skip(); }
        const x86::PatchSite* operator*() const { return pick_(*site_); }
        bool operator!=(const Iterator& other) const { return site_ != other.site_; }
        Iterator& operator++() {
            site_ = site_->next;
            skip();
            return *this;
        }

      private:
        void skip() {
            while (site_ && !pick_(*site_))
                site_ = site_->next;
        }
        const Site* site_;
        const Pick& pick_;
    };
    Iterator begin() const { return {first_, pick_}; }
    Iterator end() const { return {nullptr, pick_}; }

  private:
    const Site* first_;
    Pick pick_;
};

/// Whether the text around a live site is what its state says. Somebody else may have patched.
Refusal check_site_text(KernelText& text, const Site& site) {
    if (site.state == State::Optimized) {
        if (site.board_written)
            if (const Refusal refusal = check_text(text, site.board, TextForm::Jump))
                return refusal;
        return check_text(text, site.jump, TextForm::Jump);
    }
    // Behind the int3 of a site that is held there may be another site's.
    if (!site.wants_jump()) return check_text(text, site.breakpoint, TextForm::Breakpoint);
    // A slide's unpatched form has the int3 of its IA in the tail.
    return check_text(
        text, site.jump,
        site.slides() && !site.anchor_armed ? TextForm::Original : TextForm::Breakpoint);
}

}  // namespace

void Garbage::add(Site* site) {
    site->next = sites_;
    sites_ = site;
}

void Garbage::add(djp_probe* probe) {
    probe->next = probes_;
    probes_ = probe;
}

Garbage Garbage::take() {
    const Garbage taken = *this;
    *this = Garbage{};
    return taken;
}

/// Nobody can be on the springboard any more.
static void restore_board(const Site& site) {
    if (!site.board_written) return;
    KernelText text;
    if (check_text(text, site.board, TextForm::Jump)) {
        djk_warn("somebody else has patched these dead bytes, they stay as they are",
                 site.board.address);
        return;
    }
    x86::restore_board(text, site.board);
    text.sync_cores();
}

void Garbage::free() {
    while (djp_probe* probe = probes_) {
        probes_ = probe->next;
        djk_probe_destroy(probe->handler);
        Box<djp_probe>::adopt(probe).reset();
    }
    while (Site* site = sites_) {
        sites_ = site->next;
        restore_board(*site);
        Box<Site>::adopt(site).reset();
    }
}

void Registry::stop() {
    djk_quiesce();
    RegistryLock lock;
    garbage_.free();
}

Refusal Registry::locate(djp_request& request, u64& function_entry) {
    u64 start = request.address;
    u64 size = 0;
    if (request.symbol) {
        u64 other[2] = {0, 0};
        if (const unsigned int reason = djk_symbol_find(request.symbol, &start, other))
            return Refusal{static_cast<Reason>(reason), other[0], other[1]};
        if (!djk_symbol_range(start, &start, &size)) return Refusal{Reason::NOT_TEXT};
        if (request.offset >= size) return Refusal{Reason::PAST_END, start, start + size};
        request.address = start + request.offset;
    } else if (!djk_symbol_range(request.address, &start, &size)) {
        return Refusal{Reason::NOT_TEXT};
    }
    const u64 entry = djk_function_entry(start);
    if (request.address == start) request.address = entry;
    function_entry = request.address == entry ? start : 0;
    return {};
}

djp_probe* Registry::attach(djp_request& request) {
    u64 function_entry = 0;
    Refusal refusal = locate(request, function_entry);
    if (!refusal)
        if (const unsigned int reason = djk_forbidden(request.address))
            refusal = Refusal{static_cast<Reason>(reason)};
    Box<djp_probe> probe = Box<djp_probe>::create();
    if (!refusal && !probe) refusal = Refusal{Reason::NO_MEMORY};
    if (!refusal) {
        unsigned int reason = 0;
        u64 detail = 0;
        probe->cookie = request.cookie;
        probe->int3_only = request.int3_only;
        probe->handler =
            djk_probe_create(request.prog_fd, request.cookie, function_entry, &reason, &detail);
        if (!probe->handler) refusal = Refusal{static_cast<Reason>(reason), detail};
    }
    if (!refusal) {
        // Until the site is in the table, where forget() finds it, its text must not go away.
        if (djk_pin_target(request.address)) {
            RegistryLock lock;
            refusal = attach_at(request, *probe);
            djk_unpin_target(request.address);
        } else {
            refusal = Refusal{Reason::MODULE_LEAVING};
        }
        if (refusal) djk_probe_destroy(probe->handler);
    }
    // A probe that stays at int3 is told why.
    tell(refusal ? refusal : probe->site->hold, request);
    return refusal ? nullptr : probe.release();
}

Refusal Registry::attach_at(const djp_request& request, djp_probe& probe) {
    Site* site = sites_.find(request.address);
    if (!site) return create_site(request, probe);
    // All probes of a site share its mechanism; who asks for int3 means to see int3.
    site->int3_probes += probe.int3_only;
    if (const Refusal refusal = settle(*site)) {
        site->int3_probes -= probe.int3_only;
        return refusal;
    }
    if (site->holds_module) djk_release_module();
    site->holds_module = false;
    link(*site, probe.handler);
    probe.site = site;
    return {};
}

/// The plan of the site that is there, or the one that it would get.
bool Registry::explain(djp_request& request, djp_verdict& verdict) {
    u64 function_entry = 0;
    const Refusal nowhere = locate(request, function_entry);
    tell(nowhere, request);
    if (nowhere) return false;
    Box<x86::Plan> plan = Box<x86::Plan>::create();
    Refusal refusal = plan ? Refusal{} : Refusal{Reason::NO_MEMORY};
    if (!refusal && djk_pin_target(request.address)) {
        RegistryLock lock;
        if (const Site* site = sites_.find(request.address))
            *plan = site->plan;
        else
            refusal = analyst_.analyse(request.address, sites_, *plan);
        djk_unpin_target(request.address);
    } else if (!refusal) {
        refusal = Refusal{static_cast<Reason>(djk_forbidden(request.address))};
        if (!refusal) refusal = Refusal{Reason::MODULE_LEAVING};
    }
    tell(refusal ? refusal : plan->jump, request);
    verdict.verdict = refusal ? 0 : plan->may_jump() ? 2 : 1;
    if (refusal || !plan->may_jump()) return true;
    verdict.tactic = static_cast<unsigned int>(plan->tactic);
    verdict.before = plan->before;
    verdict.anchor = plan->anchor;
    verdict.board = plan->board;
    verdict.region_len = plan->region.length;
    for (unsigned int i = 0; i < verdict.region_len; ++i)
        verdict.region[i] = plan->region.bytes[i];
    return true;
}

Refusal Registry::create_site(const djp_request& request, djp_probe& probe) {
    Box<Site> site = Box<Site>::create();
    if (!site) return Refusal{Reason::NO_MEMORY};
    site->trap.hit.address = request.address;
    if (const Refusal refusal = analyst_.analyse(request.address, sites_, site->plan))
        return refusal;
    if (const Refusal refusal = build(*site)) return refusal;
    site->hit.probes = probe.handler;
    site->int3_probes = probe.int3_only;
    if (const Refusal refusal = arm(*site)) return refusal;
    probe.site = site.release();
    // Armed, nothing can go wrong any more: at worst it stays so.
    (void)settle(*probe.site);
    return {};
}

/// Why a site may not have its jump now.
Refusal Registry::hold_reason(const Site& site) const {
    if (!site.plan.may_jump()) return site.plan.jump;
    if (site.int3_probes) return Refusal{Reason::MODE_INT3};
    for (const Site* other = sites_.first(); other; other = other->next) {
        if (other == &site || !site.region().overlaps(other->region())) continue;
        // An IA inside must trap by itself. Of two jumps that overlap, the first one stays.
        if (site.region().contains(other->address()) || other->wants_jump())
            return Refusal{Reason::OVERLAP, other->address()};
    }
    return {};
}

/// Armed <-> Optimizing or Optimized, as hold_reason() says now. Fails, and changes nothing, when
/// somebody else has patched on top of a jump that should go.
Refusal Registry::settle(Site& site) {
    if (!is_live(site.state)) return {};
    const Refusal hold = hold_reason(site);
    if (hold && site.wants_jump()) {
        KernelText text;
        if (const Refusal refusal = check_site_text(text, site)) return refusal;
        back_to_int3(text, site);
    }
    site.hold = hold;
    if (!hold && site.state == State::Armed) {
        set_state(site, State::Optimizing);
        site.quiescence = Quiescence::Wanted;
        djk_optimizer_kick();
    }
    return {};
}

/// A site has gone: others near it may have waited for that.
void Registry::settle_all(Range range) {
    for (Site* site = sites_.first(); site; site = site->next)
        if (site->has_probes() && site->region().overlaps(range)) (void)settle(*site);
}

/// Jumps over `address` give way to their int3, so that one can be set there.
Refusal Registry::make_way(KernelText& text, u64 address) {
    for (Site* site = sites_.first(); site; site = site->next) {
        if (!site->wants_jump() || !site->region().contains(address)) continue;
        if (const Refusal refusal = check_site_text(text, *site)) return refusal;
        back_to_int3(text, *site);
        site->hold = Refusal{Reason::OVERLAP, address};
    }
    return {};
}

/// Emit the site's code into a slot of its own and prepare the bytes of its text.
Refusal Registry::build(Site& site) {
    const djk_machine& machine = analyst_.machine();
    const x86::DetourConfig config = {
        .handler = machine.hit_handler,
        .argument = reinterpret_cast<u64>(&site.hit),
        .cs = machine.cs,
        .ss = machine.ss,
        .smap = machine.smap,
    };
    const auto emit = [&](u64 address, Span<u8> out) {
        return site.plan.may_jump() ? emit_detour(site.plan, config, address, out, site.layout)
                                    : emit_out_of_line(site.plan, address, out, site.layout);
    };
    u8 code[x86::kMaxDetour];
    // A first pass for the size, which does not depend on the place.
    if (const Refusal refusal = emit(machine.hit_handler, code)) {
        if (!site.plan.may_jump()) return refusal;
        site.plan.jump = refusal;
        return build(site);
    }
    site.slot = slots_.take(site.layout.size);
    if (!site.slot) return Refusal{Reason::NO_MEMORY};
    if (const Refusal refusal = emit(site.slot.address(), code)) return refusal;
    if (const Refusal refusal = prepare_patches(site)) return refusal;
    KernelText text;
    text.write(site.slot.address(), {code, site.layout.size});
    text.sync_cores();
    return {};
}

Refusal Registry::prepare_patches(Site& site) {
    site.breakpoint = make_breakpoint_site(site.plan);
    site.trap.hit.site = &site.hit;
    set_resume(site, site.out_of_line());
    if (!site.plan.may_jump()) return {};
    if (const Refusal refusal = make_jump_site(site.plan, site.entry(), site.jump)) return refusal;
    if (site.slides()) site.anchor.hit = {site.plan.anchor, site.entry(), nullptr};
    if (site.plan.tactic == x86::Tactic::Springboard)
        return make_board(site.plan, site.entry(), site.board);
    return {};
}

/// Disarmed -> Armed, and into the table.
Refusal Registry::arm(Site& site) {
    const auto arm_under_lock = [&]() {
        KernelText text;
        if (const Refusal refusal = make_way(text, site.address())) return refusal;
        if (const Refusal refusal = check_text(text, site.breakpoint, TextForm::Original))
            return refusal;
        // A hit must find the site as soon as the int3 is there.
        sites_.insert(site);
        x86::arm(text, One{&site.breakpoint});
        set_state(site, State::Armed);
        return Refusal{};
    };
    const Refusal refusal = arm_under_lock();
    // Those who made way may have done so in vain.
    if (refusal) settle_all({site.address(), site.address() + 1});
    return refusal;
}

/// Take the jump out, or the int3 that makes way for it. The IA's int3 stays. The caller has
/// checked the text.
void Registry::back_to_int3(KernelText& text, Site& site) {
    if (site.state == State::Optimized) {
        set_state(site, State::Unoptimizing);
        x86::unoptimize(text, One{&site.jump});
    }
    if (site.anchor_armed) {
        x86::disarm(text, One{&site.jump});
        sites_.remove(site.anchor);
        site.anchor_armed = false;
    }
    // Only now are the bytes behind the first instruction the original ones again.
    set_resume(site, site.out_of_line());
    set_state(site, State::Armed);
}

/// Any state without probes -> Disarmed, and out of the table. When somebody else has patched on
/// top of us, the site stays as it is, without handlers, and the optimizer tries again; until then
/// the module must stay.
void Registry::retire(Site& site) {
    {
        KernelText text;
        if (check_site_text(text, site)) {
            if (!site.holds_module) djk_keep_module();
            site.holds_module = true;
            djk_optimizer_kick_later();
            return;
        }
        back_to_int3(text, site);
        x86::disarm(text, One{&site.breakpoint});
        set_state(site, State::Disarmed);
    }
    // Every CPU has synchronized since the last int3 was there: no hit is looking for the site.
    sites_.remove(site);
    settle_all(site.region());
    if (site.holds_module) djk_release_module();
    garbage_.add(&site);
    djk_optimizer_kick();
}

void Registry::detach(djp_probe* probe) {
    RegistryLock lock;
    Site& site = *probe->site;
    unlink(site, probe->handler);
    garbage_.add(probe);
    djk_optimizer_kick();
    site.int3_probes -= probe->int3_only;
    if (site.has_probes()) {
        (void)settle(site);
        return;
    }
    if (site.state == State::Gone)
        garbage_.add(&site);
    else
        retire(site);
}

void Registry::query(const djp_probe& probe, djp_status& status) {
    RegistryLock lock;
    const Site& site = *probe.site;
    const bool jump = site.state == State::Optimized;
    status.state = static_cast<unsigned int>(site.state);
    status.mechanism = !is_live(site.state) ? 0 : jump ? 2 : 1;
    status.reason = static_cast<unsigned int>(site.hold.reason);
    status.detail[0] = site.hold.detail[0];
    status.detail[1] = site.hold.detail[1];
    status.address = site.address();
    status.cookie = probe.cookie;
    const bool region = site.wants_jump();
    status.tactic = static_cast<unsigned int>(site.plan.tactic);
    status.anchor = region ? site.plan.anchor : site.address();
    status.displaced_len = region ? site.plan.region.length : site.plan.first.length;
    const u8* bytes = region ? site.plan.region.bytes : site.plan.first_bytes;
    for (unsigned int i = 0; i < status.displaced_len; ++i)
        status.displaced[i] = bytes[i];
    djk_probe_count(probe.handler, &status.hits, status.missed);
}

/// Before the wait: from now on who comes by continues behind the region, so that after it nobody
/// stands inside.
bool Registry::prepare_batch() {
    KernelText text;
    bool any = false;
    for (Site* site = sites_.first(); site; site = site->next) {
        if (site->state != State::Optimizing) continue;
        if (const Refusal changed = check_site_text(text, *site)) {
            give_up(*site, changed);
            continue;
        }
        set_resume(*site, site->displaced());
        site->quiescence = Quiescence::Running;
        any = true;
        if (!site->slides()) continue;
        sites_.insert(site->anchor);
        site->anchor_armed = true;
    }
    // Those who reach a slide's anchor go through the detour from here on, the IA included.
    const auto slides = [](const Site& site) {
        return site.quiescence == Quiescence::Running && site.slides() ? &site.jump : nullptr;
    };
    x86::arm(text, Picked(sites_.first(), slides));
    return any;
}

/// After the wait: Optimizing -> Optimized for all that were there before it.
void Registry::finish_batch() {
    KernelText text;
    for (Site* site = sites_.first(); site; site = site->next) {
        if (site->quiescence != Quiescence::Running) continue;
        site->quiescence = Quiescence::Wanted;
        if (site->state != State::Optimizing) continue;
        Refusal changed = check_site_text(text, *site);
        if (!changed && site->board.length && !site->board_written)
            changed = check_text(text, site->board, TextForm::Original);
        if (changed) {
            back_to_int3(text, *site);
            give_up(*site, changed);
            continue;
        }
        if (site->board.length && !site->board_written) x86::write_board(text, site->board);
        site->board_written = site->board.length != 0;
        site->quiescence = Quiescence::Reached;
    }
    const auto ready = [](const Site& site) {
        return site.quiescence == Quiescence::Reached ? &site.jump : nullptr;
    };
    x86::optimize(text, Picked(sites_.first(), ready));
    for (Site* site = sites_.first(); site; site = site->next) {
        if (!ready(*site)) continue;
        site->quiescence = Quiescence::Wanted;
        set_state(*site, State::Optimized);
    }
}

void Registry::optimize() {
    Garbage old;
    bool waiting;
    {
        RegistryLock lock;
        for (Site* site = sites_.first(); site;) {
            Site* next = site->next;
            if (!site->has_probes()) retire(*site);
            site = next;
        }
        waiting = prepare_batch();
        old = garbage_.take();
    }
    if (!waiting && old.empty()) return;
    djk_quiesce();
    {
        RegistryLock lock;
        if (waiting) finish_batch();
        old.free();
    }
    djk_optimizer_done();
}

void Registry::forget(Range text) {
    RegistryLock lock;
    for (Site* site = sites_.first(); site;) {
        Site* next = site->next;
        if (text.contains(site->address())) {
            set_state(*site, State::Gone);
            site->board_written = false;
            sites_.remove(*site);
            if (site->holds_module) djk_release_module();
            if (!site->has_probes()) garbage_.add(site);
        }
        site = next;
    }
    djk_optimizer_kick();
}

}  // namespace djprobe::kmod
