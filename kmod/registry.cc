// SPDX-License-Identifier: GPL-2.0
#include "registry.h"

namespace djprobe::kmod {
namespace {

using x86::TextForm;

TextForm form_of(State state) {
    switch (state) {
        case State::Optimized:
            return TextForm::Jump;
        case State::Armed:
        case State::Optimizing:
        case State::Unoptimizing:
            return TextForm::Breakpoint;
        default:
            return TextForm::Original;
    }
}

void set_state(Site& site, State state) {
    // Waiters and hits look without the lock.
    __atomic_store_n(&site.state, state, __ATOMIC_RELEASE);
}

void set_resume(Site& site, u64 address) {
    __atomic_store_n(&site.hit.resume, address, __ATOMIC_RELEASE);
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

/// A list of one, as the patch protocol takes it.
struct One {
    const x86::PatchSite* site;
    const x86::PatchSite* const* begin() const { return &site; }
    const x86::PatchSite* const* end() const { return &site + 1; }
};

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

void Garbage::free() {
    while (djp_probe* probe = probes_) {
        probes_ = probe->next;
        djk_probe_destroy(probe->handler);
        Box<djp_probe>::adopt(probe).reset();
    }
    while (Site* site = sites_) {
        sites_ = site->next;
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
        request.address = start + request.offset;
    }
    if (!djk_symbol_range(request.address, &start, &size)) {
        // Past the last symbol of a module or a section.
        return Refusal{request.symbol ? Reason::PAST_END : Reason::NOT_TEXT};
    }
    if (request.symbol && request.address - start != request.offset) {
        const u64 begin = request.address - request.offset;
        djk_symbol_range(begin, &start, &size);
        return Refusal{Reason::PAST_END, start, start + size};
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
    const Refusal& told = refusal ? refusal : probe->site->plan.jump;
    request.reason = static_cast<unsigned int>(told.reason);
    request.detail[0] = told.detail[0];
    request.detail[1] = told.detail[1];
    return refusal ? nullptr : probe.release();
}

Refusal Registry::attach_at(const djp_request& request, djp_probe& probe) {
    Site* site = sites_.find(request.address);
    if (!site) return create_site(request, probe);
    if (request.int3_only && site->plan.may_jump()) {
        // All probes of a site share its mechanism; who asks for int3 means to see int3.
        KernelText text;
        if (site->state == State::Optimized) {
            if (const Refusal refusal = check_text(text, site->text, TextForm::Jump))
                return refusal;
            unoptimize(text, *site);
        }
        set_resume(*site, site->out_of_line());
        set_state(*site, State::Armed);
        site->plan.jump = Refusal{Reason::MODE_INT3};
    }
    if (site->holds_module) djk_release_module();
    site->holds_module = false;
    link(*site, probe.handler);
    probe.site = site;
    return {};
}

Refusal Registry::create_site(const djp_request& request, djp_probe& probe) {
    Box<Site> site = Box<Site>::create();
    if (!site) return Refusal{Reason::NO_MEMORY};
    site->hit.address = request.address;
    if (const Refusal refusal = analyst_.analyse(request.address, sites_, site->plan))
        return refusal;
    if (const Refusal refusal = check_overlap(request.address, site->plan)) return refusal;
    if (request.int3_only) site->plan.jump = Refusal{Reason::MODE_INT3};
    if (const Refusal refusal = build(*site)) return refusal;
    site->hit.probes = probe.handler;
    if (const Refusal refusal = arm(*site)) return refusal;
    if (site->plan.may_jump()) {
        set_state(*site, State::Optimizing);
        djk_optimizer_kick();
    }
    probe.site = site.release();
    return {};
}

Refusal Registry::check_overlap(u64 address, x86::Plan& plan) const {
    const u64 length = plan.may_jump() ? plan.region.length : plan.first.length;
    for (const Site* site = sites_.first(); site; site = site->next) {
        // The bytes here are, or will be, part of that site's jump.
        if (site->plan.may_jump() && site->region().contains(address))
            return Refusal{Reason::OVERLAP, site->address()};
        if (site->address() > address && site->address() < address + length)
            plan.jump = Refusal{Reason::OVERLAP, site->address()};
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
    Refusal refusal = emit(site.slot.address(), code);
    if (!refusal && site.plan.may_jump())
        refusal = make_jump_site(site.plan, site.slot.address() + site.layout.entry, site.text);
    else
        site.text = make_breakpoint_site(site.plan);
    if (refusal) return refusal;
    KernelText text;
    text.write(site.slot.address(), {code, site.layout.size});
    text.sync_cores();
    set_resume(site, site.out_of_line());
    return {};
}

/// Disarmed -> Armed, and into the table.
Refusal Registry::arm(Site& site) {
    KernelText text;
    if (const Refusal refusal = check_text(text, site.text, TextForm::Original)) return refusal;
    // A hit must find the site as soon as the int3 is there.
    sites_.insert(site);
    x86::arm(text, One{&site.text});
    set_state(site, State::Armed);
    return {};
}

/// Optimized -> Armed. The caller has checked the text.
void Registry::unoptimize(KernelText& text, Site& site) {
    set_state(site, State::Unoptimizing);
    x86::unoptimize(text, One{&site.text});
    set_resume(site, site.out_of_line());
    set_state(site, State::Armed);
}

/// Any state without probes -> Disarmed, and out of the table. When somebody else has patched on
/// top of us, the site stays as it is, without handlers, and the optimizer tries again; until then
/// the module must stay.
void Registry::retire(Site& site) {
    {
        KernelText text;
        if (check_text(text, site.text, form_of(site.state))) {
            if (!site.holds_module) djk_keep_module();
            site.holds_module = true;
            djk_optimizer_kick_later();
            return;
        }
        if (site.state == State::Optimized) unoptimize(text, site);
        x86::disarm(text, One{&site.text});
        set_state(site, State::Disarmed);
    }
    // Every CPU has synchronized since the last int3 was there: no hit is looking for the site.
    sites_.remove(site);
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
    if (site.has_probes()) return;
    if (site.state == State::Gone)
        garbage_.add(&site);
    else
        retire(site);
}

void Registry::query(const djp_probe& probe, djp_status& status) {
    RegistryLock lock;
    const Site& site = *probe.site;
    const bool jump = site.state == State::Optimized;
    const bool live = form_of(site.state) != TextForm::Original;
    status.state = static_cast<unsigned int>(site.state);
    status.mechanism = !live ? 0 : jump ? 2 : 1;
    status.reason = static_cast<unsigned int>(site.plan.jump.reason);
    status.detail[0] = site.plan.jump.detail[0];
    status.detail[1] = site.plan.jump.detail[1];
    status.address = site.address();
    status.cookie = probe.cookie;
    const bool region = site.plan.may_jump();
    status.displaced_len = region ? site.plan.region.length : site.plan.first.length;
    const u8* bytes = region ? site.plan.region.bytes : site.plan.first_bytes;
    for (unsigned int i = 0; i < status.displaced_len; ++i)
        status.displaced[i] = bytes[i];
    djk_probe_count(probe.handler, &status.hits, status.missed);
}

/// Before the wait: let int3 hits resume behind the region, so that after it nobody stands inside.
bool Registry::prepare_batch() {
    bool any = false;
    for (Site* site = sites_.first(); site; site = site->next) {
        if (site->state != State::Optimizing) continue;
        set_resume(*site, site->displaced());
        site->quiescence = Quiescence::Running;
        any = true;
    }
    return any;
}

/// After the wait: Optimizing -> Optimized for all that were there before it.
void Registry::finish_batch() {
    KernelText text;
    // The patch protocol takes a range of sites; this one is filtered as it goes.
    struct Ready {
        Site* site;
        const x86::PatchSite* operator*() const { return &site->text; }
        bool operator!=(const Ready& other) const { return site != other.site; }
        Ready& operator++() {
            site = next_ready(site->next);
            return *this;
        }
        static Site* next_ready(Site* site) {
            while (site && site->quiescence != Quiescence::Reached)
                site = site->next;
            return site;
        }
    };
    struct Batch {
        Site* first;
        Ready begin() const { return {Ready::next_ready(first)}; }
        Ready end() const { return {nullptr}; }
    };
    for (Site* site = sites_.first(); site; site = site->next) {
        if (site->quiescence != Quiescence::Running) continue;
        site->quiescence = Quiescence::Wanted;
        if (site->state != State::Optimizing) continue;
        if (const Refusal changed = check_text(text, site->text, TextForm::Breakpoint)) {
            site->plan.jump = Refusal{Reason::TEXT_CHANGED, changed.detail[0]};
            set_resume(*site, site->out_of_line());
            set_state(*site, State::Armed);
            continue;
        }
        site->quiescence = Quiescence::Reached;
    }
    x86::optimize(text, Batch{sites_.first()});
    for (Site* site = sites_.first(); site; site = site->next) {
        if (site->quiescence != Quiescence::Reached) continue;
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
            sites_.remove(*site);
            if (site->holds_module) djk_release_module();
            if (!site->has_probes()) garbage_.add(site);
        }
        site = next;
    }
    djk_optimizer_kick();
}

}  // namespace djprobe::kmod
