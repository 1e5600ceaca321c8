// SPDX-License-Identifier: GPL-2.0
#include "analyst.h"

#include "../../arch/x86/analysis/local_arrivals.h"
#include "../../arch/x86/insn/scan.h"
#include "jump_tables.h"
#include "kernel_text.h"

namespace djprobe::kmod {
namespace {

using x86::Plan;
using x86::Reserved;
using x86::Snapshot;

/// The symbols from which a short branch reaches `region`.
struct Neighbours {
    // A symbol may be as short as a byte, but more than a few of them within reach of a short
    // branch are a table of entry stubs: refuse rather than allocate.
    static constexpr size_t kMax = 64;
    FunctionCopy copies[kMax];
    Code code[kMax];
    size_t count = 0;

    Refusal load(u64 address, Range text, const OwnText& ours) {
        if (count == kMax) return Refusal{Reason::UNSCANNABLE, address};
        FunctionCopy& copy = copies[count];
        // A module's first symbol may lie behind nops that the kernel patches.
        u64 start, size;
        const bool named = djk_symbol_range(address, &start, &size);
        if (!(named ? copy.load(address) : copy.load(Range{text.begin, address + 1})))
            return Refusal{copy.out_of_memory() ? Reason::NO_MEMORY : Reason::UNSCANNABLE, address};
        copy.recover_own(ours);
        code[count++] = copy.code();
        return {};
    }

    /// Load the neighbours in `text` from which a short branch reaches `region`.
    Refusal collect(Range text, Range function, Range region, const OwnText& ours) {
        count = 0;
        const Range reach = reach_of(text, region);
        for (u64 at = function.begin; at > reach.begin;) {
            if (const Refusal refusal = load(at - 1, text, ours)) return refusal;
            at = code[count - 1].address;
        }
        for (u64 at = function.end; at < reach.end;) {
            if (const Refusal refusal = load(at, text, ours)) return refusal;
            at = code[count - 1].range().end;
        }
        return {};
    }

    /// The same, but none where no bytes around the function could be such a branch.
    Refusal collect_if_any(Range text, Range function, Range region, const OwnText& ours) {
        count = 0;
        const Range reach = reach_of(text, region);
        if (function.begin <= reach.begin && function.end >= reach.end) return {};
        // A kprobe's jump that begins before these bytes hides some of them.
        const u64 hidden = x86::kJumpLength - 1;
        const u64 begin = reach.begin > text.begin + hidden ? reach.begin - hidden : text.begin;
        if (!around.load(Range{begin, reach.end}))
            return around.out_of_memory() ? Refusal{Reason::NO_MEMORY, reach.begin}
                                          : collect(text, function, region, ours);
        around.recover_own(ours);
        const Code all = around.code();
        const auto may_branch = [&](Range part) {
            if (part.begin >= part.end) return false;
            const Code piece = {part.begin, all.from(part.begin).first(part.size())};
            return x86::may_branch_short(piece, region);
        };
        if (!may_branch({reach.begin, function.begin}) && !may_branch({function.end, reach.end}))
            return {};
        return collect(text, function, region, ours);
    }

  private:
    static Range reach_of(Range text, Range region) {
        const u64 reach = x86::kShortReach;
        return {region.begin > text.begin + reach ? region.begin - reach : text.begin,
                region.end + reach < text.end ? region.end + reach : text.end};
    }

    FunctionCopy around;
};

/// Which bytes around a site have another owner.
struct ReservedBytes {
    static constexpr size_t kMax = 2 * x86::kTacticReach;
    Reserved all[kMax + kMax / x86::kJumpLength];
    u8 reasons[kMax];
    size_t count = 0;

    void add(Range range, Reason reason) {
        if (count < sizeof(all) / sizeof(all[0])) all[count++] = {range, reason};
    }

    void collect(Range range, u64 site, const LandingIndex& index, const OwnText& ours) {
        count = 0;
        index.mark_rewritten(range, reasons);
        djk_reserved(range.begin, reasons, range.size());
        for (u64 i = 0; i < range.size(); ++i) {
            const auto reason = static_cast<Reason>(reasons[i]);
            // The site shares a kprobe at its own address: see share_kprobe().
            if (reason == Reason::FOREIGN_PATCH && range.begin + i == site) continue;
            if (reasons[i]) add({range.begin + i, range.begin + i + 1}, reason);
        }
        // A springboard belongs to its site until the site's detour is freed.
        ours.for_each_board(range, [&](Range board) { add(board, Reason::OVERLAP); });
    }
};

/// A site must not lie under a kprobe's jump, and no jump of ours may cover one.
Refusal refuse_kprobe_jump(u64 site, Plan& plan) {
    if (const Refusal refusal = find_kprobe_jump_over(site)) return refusal;
    if (plan.may_jump())
        if (const Refusal before = find_kprobe_jump_over(plan.anchor))
            plan.jump =
                Refusal{Reason::REGION_RESERVED, before.detail[0], static_cast<u64>(before.reason)};
    return {};
}

/// Where the kernel has a kprobe, the kernel owns the byte: see Site::joins_kprobe().
void share_kprobe(u64 site, Plan& plan) {
    if (djk_kprobe_at(site) != DJK_KPROBE_NONE) plan.jump = Refusal{Reason::SHARED_KPROBE, site};
}

/// The thunks that a function of `text` may jump through.
x86::IndirectThunks indirect_thunks(const djk_machine& machine, Range text) {
    const auto range = [](const djk_extent& extent) { return Range{extent.begin, extent.end}; };
    return {range(machine.indirect_thunks),
            {range(machine.boot_thunks[0]), range(machine.boot_thunks[1])},
            {core_text(), text}};
}

}  // namespace

// Few functions are larger: of their instructions.
constexpr size_t kMostOfFunction = 4096, kMostOfOthers = 1024;

struct Analyst::Scratch {
    DecodedFunction function;  ///< the site's
    DecodedFunction cold;      ///< its part elsewhere
    DecodedFunction source;    ///< another one, from which control may come
    SourceFunctions sources{function, source};
    Range text;     ///< all that may branch into it
    Range allowed;  ///< a function of the core kernel: check_function(), and not BLACKLISTED
    Snapshot snapshot;
    Neighbours neighbours;
    ReservedBytes reserved;
    Landings landings;
    x86::EffectsMemo effects;

    bool allocate() {
        return function.allocate(kMostOfFunction) && cold.allocate(kMostOfOthers) &&
               source.allocate(kMostOfOthers);
    }
    void forget() {
        function.forget();
        cold.forget();
        source.forget();
        allowed = {};
    }
};

Analyst::Analyst() = default;
Analyst::~Analyst() = default;

Refusal Analyst::start() {
    djk_get_machine(&machine_);
    if (machine_.no_jump_tables && has_jump_tables(core_text())) {
        machine_.no_jump_tables = false;
        djk_warn(
            "jump tables, which this kernel's configuration excludes: functions that jump "
            "through a register get no jump",
            core_text().begin);
    }
    scratch_ = Box<Scratch>::create();
    if (!scratch_ || !scratch_->allocate()) return Refusal{Reason::NO_MEMORY};
    if (const Refusal refusal = fragile_.compute()) return refusal;
    return trap_path_.compute();
}

/// TRAP_PATH for a function on it. Calls run through the pad before a function, which is a symbol
/// of its own: what forbids the function forbids its pad.
Refusal Analyst::check_function(Range function) const {
    if (trap_path_.contains(function.begin)) return Refusal{Reason::TRAP_PATH};
    if (function.size() != machine_.pad) return {};
    if (const unsigned int reason = djk_forbidden(function.end))
        return Refusal{static_cast<Reason>(reason)};
    return trap_path_.contains(function.end) ? Refusal{Reason::TRAP_PATH} : Refusal{};
}

Refusal Analyst::analyse(u64 site, const OwnText& ours, Plan& plan) {
    const bool is_allowed = scratch_->allowed.contains(site);
    if (const unsigned int reason =
            is_allowed ? djk_forbidden_in_unlisted(site) : djk_forbidden(site))
        return Refusal{static_cast<Reason>(reason)};
    if (const Refusal refusal = scratch_->function.read(site, ours)) return refusal;
    // Further sites of a function share what takes the whole of it.
    if (scratch_->function.is_again()) scratch_->function.decode();
    const Code& function = scratch_->function.code();
    if (!is_allowed) {
        if (const Refusal refusal = check_function(function.range())) return refusal;
        scratch_->allowed = core_text().contains(site) ? function.range() : Range{};
    }

    djk_extent extent;
    if (!djk_text_extent(site, &extent)) return Refusal{Reason::NOT_TEXT};
    const Range text = {extent.begin, extent.end};
    scratch_->text = text;
    Snapshot& snapshot = scratch_->snapshot;
    snapshot = Snapshot{};
    snapshot.site = site;
    snapshot.function = function;
    snapshot.no_jump_tables = machine_.no_jump_tables;
    snapshot.indirect_thunks = indirect_thunks(machine_, text);
    snapshot.memo = &scratch_->function.memo();
    // Facts are expensive: collect those for the plain window first, which nearly always fits.
    const Range window = {site, x86::replaced_bytes(function, site).end};
    if (const Refusal refusal = decide_within(window, tactic_bit(x86::Tactic::Window), ours, plan))
        return refusal;
    const Range reach = {site - x86::kTacticReach, site + x86::kTacticReach};
    if (!plan.may_jump())
        if (const Refusal refusal = decide_within(reach, x86::kAllTactics, ours, plan))
            return refusal;
    if (const Refusal refusal = check_copies(plan)) return refusal;
    if (const Refusal refusal = refuse_kprobe_jump(site, plan)) return refusal;
    share_kprobe(site, plan);
    return {};
}

Refusal Analyst::check_copies(Plan& plan) const {
    const auto is_indirect = [](const x86::Insn& insn) {
        return insn.kind == x86::Kind::IndirectCall || insn.kind == x86::Kind::IndirectJump;
    };
    if (machine_.aligned_branches && is_indirect(plan.first))
        return Refusal{Reason::NOT_RELOCATABLE, plan.site};
    if (!plan.may_jump()) return {};
    // A call that is probed by int3 is emulated as the kernel's kprobes do it.
    for (const x86::Insn& insn : plan.region.all())
        if ((machine_.aligned_branches && is_indirect(insn)) ||
            (machine_.counts_calls && insn.is_call()))
            plan.jump = Refusal{Reason::REGION_RESERVED, insn.address,
                                static_cast<u64>(Reason::NOT_RELOCATABLE)};
    return {};
}

Refusal Analyst::decide_within(Range known, u8 tactics, const OwnText& ours, Plan& plan) {
    const Range text = scratch_->text;
    Snapshot& snapshot = scratch_->snapshot;
    Neighbours& neighbours = scratch_->neighbours;
    ReservedBytes& reserved = scratch_->reserved;
    Landings& landings = scratch_->landings;
    // Nothing is known, nor asked, about what lies outside the text.
    if (known.begin < text.begin) known.begin = text.begin;
    if (known.end > text.end) known.end = text.end;
    const Range function = snapshot.function.range();
    // Springboards lie in what follows the neighbours' instructions. A long branch, from wherever,
    // is among the landings.
    const bool only_window = tactics == tactic_bit(x86::Tactic::Window);
    const Refusal unknown = only_window ? neighbours.collect_if_any(text, function, known, ours)
                                        : neighbours.collect(text, function, known, ours);
    snapshot.neighbours = {neighbours.code, neighbours.count};
    landings.count = 0;
    const Refusal no_index =
        index_.find({known.begin + 1, known.end}, ours, modules_, scratch_->sources, landings);
    if (const ModuleIndex* module = modules_.find(text); module && module->jump_tables)
        snapshot.no_jump_tables = false;
    reserved.collect(known, snapshot.site, index_, ours);
    snapshot.landings = {landings.all, landings.count};
    snapshot.reserved = {reserved.all, reserved.count};
    snapshot.tactics = tactics;
    if (unknown.reason == Reason::NO_MEMORY) return unknown;
    if (no_index.reason == Reason::NO_MEMORY) return no_index;
    const Refusal refusal = make_plan(snapshot, plan);
    if (!refusal && plan.may_jump() && unknown) plan.jump = unknown;
    if (!refusal && plan.may_jump() && no_index) plan.jump = no_index;
    return refusal;
}

x86::Live Analyst::find_live(u64 site, const OwnText& ours, bool increments) const {
    return find_live_at(site, {scratch_->function, scratch_->cold, scratch_->effects}, machine_,
                        index_, ours, increments);
}

Refusal Analyst::find_returns(u64 function, const OwnText& ours, Array<u64>& returns,
                              size_t& count) {
    return kmod::find_returns(function, machine_, ours, scratch_->function, returns, count);
}

Refusal Analyst::check_no_landing(u64 address, const OwnText& ours) {
    Landings& landings = scratch_->landings;
    landings.count = 0;
    if (const Refusal refusal =
            index_.find({address, address + 1}, ours, modules_, scratch_->sources, landings))
        return refusal;
    if (!landings.count) return {};
    return Refusal{Reason::ENTRY_AGAIN, landings.all[0].source, address};
}

void Analyst::forget_allowed() {
    scratch_->allowed = {};
}

void Analyst::forget(Range text) {
    modules_.forget(text);
    scratch_->forget();
}

}  // namespace djprobe::kmod
