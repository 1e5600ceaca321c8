// SPDX-License-Identifier: GPL-2.0
// What a site's handlers read must last until there: the code of the function's sites follows.
#include "../facts/home.h"
#include "sites.h"

namespace djprobe::kmod {

/// Before a return the C convention leaves nothing in the others, and keeps what is returned.
bool Sites::is_at_return(const Site& site) const {
    const x86::Insn first = site.plan.first();
    const djk_extent& thunks = analyst_.machine().return_thunks;
    return first.kind == x86::Kind::Return ||
           (first.kind == x86::Kind::Jump &&
            Range{thunks.begin, thunks.end}.contains(first.target));
}

Reads Sites::reads_of(const Site& site, const djk_handler* joining) {
    Reads reads = site.joining_reads;
    for (const djk_handler* handler = site.hit.handlers; handler; handler = handler->next)
        reads |= code_.reads_of(handler);
    if (joining) reads |= code_.reads_of(joining);
    return is_at_return(site) ? Reads{} : reads;
}

/// What code at `address` keeps besides what is live there.
Reads Sites::kept_besides(const x86::Live& live, u64 address) const {
    Reads kept = readers_.kept_at(address);
    kept |= kprobe_readers_.kept_at(address);
    kept.registers &= ~live.registers;
    kept.flags &= !live.flags;
    return kept;
}

/// Make the site's code what its handlers and readers want, or let the optimizer try again.
Refusal Sites::reshape_or_later(Site& site) {
    const Refusal refusal = reshape(site, nullptr);
    (void)settle(site);
    if (!refusal) return {};
    unshaped_ = true;
    djk_optimizer_kick_later();
    return refusal;
}

/// Try again where another patcher had written over a jump, or memory was short.
void Sites::reshape_left(Portions& portions) {
    if (!unshaped_) return;
    unshaped_ = false;
    for_each_site(
        portions, [](const Site& site) { return site.has_probes(); },
        [&](SiteList& some) {
            while (Site* site = some.take_first())
                (void)reshape_or_later(*site);
        });
}

/// Rebuild what keeps less, or more, than handlers in `home` read, but for the site of `reader`. A
/// call that has passed such a code before may have lost its registers already, and loses them as
/// long as another patcher has written over the code's jump. NO_MEMORY.
Refusal Sites::reshape_home(Range home, u64 reader) {
    Refusal refusal;
    wake_in(home);
    table_.for_each_near(home, [&](Site& other) {
        if (refusal || other.address() == reader || !home.contains(other.address())) return;
        if (other.is_abandoned()) return;
        const Refusal failed = reshape_or_later(other);
        if (failed.reason == Reason::NO_MEMORY) refusal = failed;
    });
    return refusal;
}

Refusal Sites::add_reader(Site& site) {
    Range home;
    if (const Refusal refusal = find_home(site.address(), table_, home)) return refusal;
    if (!home.size()) return {};
    if (!readers_.add(site.address(), home)) return Refusal{Reason::NO_MEMORY};
    site.is_reader = true;
    return {};
}

Refusal Sites::keep_what_is_read(Site& site, const djk_handler* joining) {
    const Reads reads = reads_of(site, joining);
    if (!site.is_reader && !reads) return {};
    if (!site.is_reader)
        if (const Refusal refusal = add_reader(site)) return refusal;
    if (!site.is_reader) return {};
    Readers::Reader& reader = *readers_.find(site.address());
    const Range home = reader.home;
    const Reads before = readers_.kept_at(home.begin);
    reader.reads = reads;
    if (!reads) forget_reader(site);
    return readers_.kept_at(home.begin) == before ? Refusal{} : reshape_home(home, site.address());
}

void Sites::forget_reader(Site& site) {
    if (site.is_reader) readers_.remove(*readers_.find(site.address()));
    site.is_reader = false;
}

}  // namespace djprobe::kmod
