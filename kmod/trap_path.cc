// SPDX-License-Identifier: GPL-2.0
#include "trap_path.h"

#include "function.h"

namespace djprobe::kmod {
namespace {

struct KernelFunctions {
    mutable FunctionCopy copy;

    bool function_at(u64 address, Code& out) const {
        if (!copy.load(address)) return false;
        out = copy.code();
        return true;
    }
    bool start_of(u64 address, u64& start) const {
        u64 size;
        return djk_symbol_range(address, &start, &size);
    }
    bool is_leaf(const Code& code) const { return djk_trap_leaf(code.address); }
};

}  // namespace

Refusal TrapPath::compute() {
    u64 roots[128];
    const size_t count = djk_trap_roots(roots, sizeof(roots) / sizeof(*roots));
    if (count == 0) return Refusal{Reason::NO_SUCH_SYMBOL};
    const Refusal refusal = x86::find_closure(KernelFunctions{}, {roots, count}, members_, count_);
    if (refusal)
        djk_warn("the code that runs on every int3 is not known from here on", refusal.detail[0]);
    return refusal;
}

bool TrapPath::contains(u64 function) const {
    for (size_t i = 0; i < count_; ++i)
        if (members_[i] == function) return true;
    return false;
}

}  // namespace djprobe::kmod
