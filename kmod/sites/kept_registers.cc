// SPDX-License-Identifier: GPL-2.0
// What a site's handlers read must last until there: the code of the function's sites follows.
#include "../facts/home.h"
#include "sites.h"

namespace djprobe::kmod {

Reads Sites::reads_of(const Site& site, const djk_handler* joining) {
    Reads reads = site.joining_reads;
    for (const djk_handler* handler = site.hit.handlers; handler; handler = handler->next)
        reads |= code_.reads_of(handler);
    if (joining) reads |= code_.reads_of(joining);
    // Before a return the C convention leaves nothing in the others, and keeps what is returned.
    return site.plan.first.kind == x86::Kind::Return ? Reads{} : reads;
}

/// Rebuild what keeps less, or more, than handlers at `reader` read. A call that has passed such a
/// code before may have lost its registers already.
Refusal Sites::reshape_home(const Site& site, Range home) {
    Refusal refusal;
    table_.for_each_near(home, [&](Site& other) {
        if (refusal || &other == &site || !home.contains(other.address())) return;
        if (other.state == State::Gone || other.is_abandoned()) return;
        refusal = reshape(other, nullptr);
        (void)settle(other);
    });
    return refusal;
}

Refusal Sites::keep_what_is_read(const Site& site, const djk_handler* joining) {
    const Reads reads = reads_of(site, joining);
    Readers::Reader* reader = readers_.find(site.address());
    if (reads == (reader ? reader->reads : Reads{})) return {};
    if (!reader) {
        Range home;
        if (const Refusal refusal = find_home(site.address(), table_, home)) return refusal;
        if (!home.size()) return {};
        Box<Readers::Reader> made = Box<Readers::Reader>::create();
        if (!made) return Refusal{Reason::NO_MEMORY};
        reader = made.get();
        reader->site = site.address();
        reader->home = home;
        readers_.add(static_cast<Box<Readers::Reader>&&>(made));
    }
    reader->reads = reads;
    const Range home = reader->home;
    if (!reads) readers_.remove(site.address());
    return reshape_home(site, home);
}

/// A member could not join: what it would have read need not be kept. At worst others keep more
/// than they must.
void Sites::forget_reader(u64 address) {
    if (const Site* site = table_.find(address))
        (void)keep_what_is_read(*site, nullptr);
    else
        readers_.remove(address);
}

}  // namespace djprobe::kmod
