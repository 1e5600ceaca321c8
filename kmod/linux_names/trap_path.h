// SPDX-License-Identifier: GPL-2.0
// Computes the code that runs on every int3 before our recursion guard from the roots of
// trap_names.h.
#pragma once

#include "../../arch/x86/analysis/closure.h"
#include "roots.h"
#include "trap_names.h"

namespace djprobe::x86 {

inline bool is_trap_leaf(const char* name) {
    for (const char* leaf : djprobe_trap_leaves)
        if (names::equal(name, leaf)) return true;
    for (const djprobe_root& root : djprobe_trap_roots)
        if (root.walk == DJPROBE_ITSELF && names::equal(name, root.name)) return true;
    return names::has_part(name) || names::begins(name, DJPROBE_TRAP_LEAF_PREFIX);
}

/// Kernel is as in find_fragile(). Refusals: NO_SUCH_SYMBOL with the root that is `lacking`, or
/// those of find_closure().
template <class Kernel>
Refusal find_trap_path(const Kernel& kernel, Span<u64> members, size_t& count,
                       const djprobe_root*& lacking) {
    struct Functions {
        const Kernel& kernel;

        bool function_at(u64 address, Code& out) const { return kernel.function_at(address, out); }
        bool start_of(u64 address, u64& start) const { return kernel.start_of(address, start); }
        bool is_leaf(const Code& code) const { return is_trap_leaf(kernel.name_of(code.address)); }
    };
    size_t root_count = 0;
    Refusal full;
    count = 0;
    lacking = find_lacking(kernel, Span<const djprobe_root>{djprobe_trap_roots});
    if (lacking) return Refusal{Reason::NO_SUCH_SYMBOL};
    for (const djprobe_root& root : djprobe_trap_roots)
        for_each_form(kernel, root.name, [&](u64 address, bool) {
            if (root_count < members.size())
                members[root_count++] = address;
            else
                full = Refusal{Reason::NO_MEMORY, address};
        });
    if (full) return full;
    return find_closure(Functions{kernel}, Span<const u64>{members.data(), root_count}, members,
                        count);
}

}  // namespace djprobe::x86
