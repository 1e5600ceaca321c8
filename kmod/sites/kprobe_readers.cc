// SPDX-License-Identifier: GPL-2.0
// The kernel's own kprobes that come after detours in their function: their handlers read registers
// that such a detour may destroy. Of kprobes that were there before, find_live_at() knows.
#include "../facts/home.h"
#include "sites.h"

namespace djprobe::kmod {
namespace {

constexpr Reads kAll{x86::kCallerSaved, true};

bool is_something_dead(const x86::Live& live) {
    return live.registers != x86::kCallerSaved || !live.flags;
}

bool is_something_dead(const Site& site) {
    return site.plan.may_jump() && !site.joins_kprobe() && is_something_dead(site.live);
}

}  // namespace

/// All kprobes that the kernel has now.
Array<u64> Sites::list_kprobes() {
    const size_t room = djk_list_kprobes(nullptr, 0) + DJK_NEW_KPROBES;
    Array<u64> listed(room);
    if (!listed) return listed;
    KernelText text;
    const size_t count = djk_list_kprobes(listed.data(), room);
    missed_kprobes_ = count > room;
    listed.shrink(missed_kprobes_ ? room : count);
    return listed;
}

/// Where kprobes have come since the last call. Where memory is short there are none, or not all,
/// and missed_kprobes_ is set.
Array<u64> Sites::take_new_kprobes() {
    Array<u64> taken(DJK_NEW_KPROBES);
    if (!taken) missed_kprobes_ = true;
    if (!taken) return taken;
    size_t count = 0;
    {
        // A kprobe on its way into the kernel's table arrives there first.
        KernelText text;
        count = djk_take_new_kprobes(taken.data());
    }
    if (count > DJK_NEW_KPROBES) missed_kprobes_ = true;
    if (missed_kprobes_) return list_kprobes();
    taken.shrink(count);
    return taken;
}

/// Whether a detour in `home` destroys registers, or may do so once it is made anew: for other
/// handlers than it has now it may.
bool Sites::may_destroy_registers(Range home) const {
    bool found = false;
    table_.for_each_near(home, [&](const Site& site) {
        found |= home.contains(site.address()) && is_something_dead(site);
    });
    table_.for_each_resting(home, [&](const Member& member) {
        found |= home.contains(member.address) && is_something_dead(member.resting.live);
    });
    return found;
}

Refusal Sites::keep_for_kprobe(u64 address) {
    // A module that leaves takes its kprobes along.
    if (kprobe_readers_.find(address) || !djk_pin_target(address)) return {};
    Range home;
    Refusal refusal = find_home(address, table_, home);
    djk_unpin_target(address);
    // The analysis of a site that comes later sees the kprobe.
    if (refusal || !may_destroy_registers(home)) return refusal;
    Readers::Reader* const reader = kprobe_readers_.add(address, home);
    if (!reader) return Refusal{Reason::NO_MEMORY};
    reader->reads = kAll;
    refusal = reshape_home(home, 0);
    if (refusal) kprobe_readers_.remove(*reader);
    return refusal;
}

/// Forget those that is_gone() chooses. At worst detours keep more than they must.
void Sites::forget_kprobes(Portions& portions, FunctionRef<bool(const Readers::Reader&)> is_gone) {
    begin_portion();
    Readers::Cursor cursor(kprobe_readers_.all(), &Readers::Reader::next);
    while (!cursor.at_end()) {
        for (size_t looks = portions.size(); looks > 0 && !cursor.at_end(); --looks) {
            Readers::Reader& reader = *cursor.take();
            if (!is_gone(reader)) continue;
            const Range home = reader.home;
            kprobe_readers_.remove(reader);
            (void)reshape_home(home, 0);
        }
        if (cursor.at_end()) break;
        portions.pause();
        begin_portion();
    }
}

void Sites::forget_kprobes(Portions& portions) {
    forget_kprobes(portions, [&](const Readers::Reader& reader) {
        return djk_kprobe_at(reader.site) == DJK_KPROBE_NONE || !may_destroy_registers(reader.home);
    });
}

bool Sites::keep_for_kprobes(Portions& portions) {
    forget_kprobes(portions);
    const Array<u64> came = take_new_kprobes();
    portions.for_each(came.all(), [&](Span<u64> some) {
        begin_portion();
        for (const u64 kprobe : some)
            if (keep_for_kprobe(kprobe)) missed_kprobes_ = true;
        return true;
    });
    return missed_kprobes_;
}

}  // namespace djprobe::kmod
