// SPDX-License-Identifier: GPL-2.0
// Computes the code that must hold no probe from the roots of fragile_names.h.
#pragma once

#include "../../arch/x86/analysis/closure.h"
#include "roots.h"

namespace djprobe::x86 {

/// Room for the code that a CPU runs while it comes or goes; Debian's kernels need a quarter of it.
inline constexpr size_t kMaxFragile = 768;

/// The answer, and the room to find it. It is too large for a stack.
struct FragileText {
    Range ranges[kMaxFragile];
    size_t count = 0;
    /// With NO_SUCH_SYMBOL: the root that the kernel lacks, or the one that calls none of its
    /// marks.
    const djprobe_root* lacking = nullptr;
    const djprobe_root* unmarked = nullptr;

    /// Members whose callees are no members, or are found by walking.
    u64 own[kMaxFragile / 2];
    size_t own_count = 0;
    /// Members with all that they call.
    u64 open[kMaxFragile / 2];
    size_t open_count = 0;
    u64 members[kMaxFragile];
};

/// A Kernel has addresses_of() as in roots.h, function_at() and start_of() as in closure.h, and
/// name_of(address) -> const char*, the name of the function that begins there, valid until the
/// next call. A refusal: not all of that code is known, so no probe is safe.
template <class Kernel>
Refusal find_fragile(const Kernel& kernel, Span<const djprobe_root> roots, FragileText& text);

/// Calls visit(target) for what a function calls or jumps to before it calls one of `marks`, or
/// afterwards. Code that control reaches in neither way for sure (behind a jump label) counts, too.
/// NO_SUCH_SYMBOL: it calls none of the marks.
template <class Visit>
Refusal walk_calls(const Code& code, djprobe_walk walk, Span<const u64> marks, Visit&& visit);

/// Whether find_closure() does not follow the calls of a function; and whether it is no member
/// either.
template <class Kernel>
bool is_fragile_leaf(const Kernel& kernel, const char* name);
template <class Kernel>
bool is_never_fragile(const Kernel& kernel, const char* name);

}  // namespace djprobe::x86

#include "fragile_names.h"

namespace djprobe::x86 {

template <class Kernel>
bool is_never_fragile(const Kernel& kernel, const char* name) {
    u64 any;
    for (const char* never : djprobe_fragile_never)
        if (names::equal(name, never)) return true;
    for (const auto& never : djprobe_fragile_never_with)
        if (names::equal(name, never.name))
            return kernel.addresses_of(never.with, Span<u64>{&any, 1}) > 0;
    return false;
}

template <class Kernel>
bool is_fragile_leaf(const Kernel& kernel, const char* name) {
    for (const char* leaf : djprobe_fragile_leaves)
        if (names::equal(name, leaf)) return true;
    for (const char* prefix : djprobe_fragile_leaf_prefixes)
        if (names::begins(name, prefix)) return true;
    return is_never_fragile(kernel, name);
}

namespace fragile {

/// A set of instructions of one function, by the offset of their first byte.
class Places {
  public:
    static constexpr size_t kMax = 4096;

    bool test(u64 offset) const { return bits_[offset / 64] >> offset % 64 & 1; }
    /// Returns whether the offset is new.
    bool set(u64 offset) {
        if (offset >= kMax || test(offset)) return false;
        bits_[offset / 64] |= 1ull << offset % 64;
        return true;
    }

  private:
    u64 bits_[kMax / 64] = {};
};

inline bool is_among(Span<const u64> values, u64 value) {
    for (const u64 each : values)
        if (each == value) return true;
    return false;
}

/// Add to `reached` all that control reaches from there, but not through a call for which
/// ends(insn) is true.
template <class Ends>
Refusal spread(const Code& code, Places& reached, Ends&& ends) {
    for (bool more = true; more;) {
        more = false;
        const Refusal refusal = for_each_insn(code, code.range().end, [&](const Insn& insn) {
            if (!reached.test(insn.address - code.address) || ends(insn)) return true;
            if (insn.rel_size && !insn.is_call() && code.range().contains(insn.target))
                more |= reached.set(insn.target - code.address);
            if (!insn.is_terminal() && insn.kind != Kind::Trap)
                more |= reached.set(insn.end() - code.address);
            return true;
        });
        if (refusal) return refusal;
    }
    return {};
}

/// The kernel, with more leaves.
template <class Kernel>
struct Functions {
    const Kernel& kernel;
    Span<const u64> own;

    bool function_at(u64 address, Code& out) const { return kernel.function_at(address, out); }
    bool start_of(u64 address, u64& start) const { return kernel.start_of(address, start); }
    bool is_leaf(const Code& code) const {
        return is_among(own, code.address) || is_fragile_leaf(kernel, kernel.name_of(code.address));
    }
};

inline bool add(Span<u64> all, size_t& count, u64 value) {
    if (is_among(all.first(count), value)) return true;
    if (count == all.size()) return false;
    all[count++] = value;
    return true;
}

}  // namespace fragile

template <class Visit>
Refusal walk_calls(const Code& code, djprobe_walk walk, Span<const u64> marks, Visit&& visit) {
    if (code.range().size() > fragile::Places::kMax)
        return Refusal{Reason::UNSCANNABLE, code.address};
    const auto is_mark = [&](const Insn& insn) {
        return insn.is_call() && insn.rel_size && fragile::is_among(marks, insn.target);
    };
    fragile::Places before, since;
    before.set(0);
    bool marked = false;
    if (const Refusal refusal = fragile::spread(code, before, is_mark)) return refusal;
    (void)for_each_insn(code, code.range().end, [&](const Insn& insn) {
        if (!is_mark(insn)) return true;
        marked = true;
        since.set(insn.end() - code.address);
        return true;
    });
    if (!marked) return Refusal{Reason::NO_SUCH_SYMBOL, code.address};
    if (const Refusal refusal = fragile::spread(code, since, [](const Insn&) { return false; }))
        return refusal;
    const fragile::Places& wanted = walk == DJPROBE_UNTIL ? before : since;
    const fragile::Places& other = walk == DJPROBE_UNTIL ? since : before;
    return for_each_insn(code, code.range().end, [&](const Insn& insn) {
        const u64 offset = insn.address - code.address;
        if (insn.rel_size && !code.range().contains(insn.target) && !is_mark(insn) &&
            (wanted.test(offset) || !other.test(offset)))
            visit(insn.target);
        return true;
    });
}

template <class Kernel>
Refusal find_fragile(const Kernel& kernel, Span<const djprobe_root> roots, FragileText& text) {
    Refusal refusal;
    text.count = text.own_count = text.open_count = 0;
    text.unmarked = nullptr;
    text.lacking = find_lacking(kernel, roots);
    if (text.lacking) return Refusal{Reason::NO_SUCH_SYMBOL};
    const auto note = [&](const Refusal& found) {
        if (!refusal) refusal = found;
    };
    const Span<u64> own = {text.own, kMaxFragile / 2}, open = {text.open, kMaxFragile / 2};
    const auto add_range = [&](Range range) {
        if (text.count == kMaxFragile) return note(Refusal{Reason::NO_MEMORY, range.begin});
        text.ranges[text.count++] = range;
    };
    const auto add = [&](Span<u64> all, size_t& count, u64 address) {
        u64 start;
        if (kernel.start_of(address, start) && !fragile::add(all, count, start))
            note(Refusal{Reason::NO_MEMORY, address});
    };
    const auto walk = [&](const djprobe_root& root, u64 address) {
        u64 marks[2 * names::kMaxSame];
        size_t count = 0;
        for (const char* name : root.mark)
            if (*name)
                count += names::count_of(kernel, name, Span<u64>{marks + count, names::kMaxSame});
        Code code;
        if (!kernel.function_at(address, code)) return note(Refusal{Reason::UNSCANNABLE, address});
        const Refusal unknown = walk_calls(code, root.walk, Span<const u64>{marks, count},
                                           [&](u64 target) { add(open, text.open_count, target); });
        if (unknown.reason == Reason::NO_SUCH_SYMBOL) text.unmarked = &root;
        note(unknown);
    };
    const auto begin = [&](const djprobe_root& root) {
        for_each_form(kernel, root.name, [&](u64 address, bool part) {
            u64 end;
            if (root.walk == DJPROBE_RANGE && !part &&
                kernel.addresses_of(root.mark[0], Span<u64>{&end, 1}) && end > address)
                add_range({address, end});
            if (root.walk == DJPROBE_ALL)
                add(open, text.open_count, address);
            else
                add(own, text.own_count, address);
            if ((root.walk == DJPROBE_UNTIL || root.walk == DJPROBE_SINCE) && !part)
                walk(root, address);
        });
    };
    for (const djprobe_root& root : roots)
        begin(root);
    if (refusal) return refusal;

    size_t members = 0;
    const fragile::Functions<Kernel> functions = {kernel, own.first(text.own_count)};
    refusal = find_closure(functions, Span<const u64>{text.open, text.open_count},
                           Span<u64>{text.members, kMaxFragile}, members);
    const auto add_function = [&](u64 start) {
        Code code;
        if (kernel.function_at(start, code)) add_range(code.range());
    };
    for (const u64 start : own.first(text.own_count))
        add_function(start);
    for (size_t i = 0; i < members; ++i)
        if (!fragile::is_among(own.first(text.own_count), text.members[i]) &&
            !is_never_fragile(kernel, kernel.name_of(text.members[i])))
            add_function(text.members[i]);
    return refusal;
}

}  // namespace djprobe::x86
