// SPDX-License-Identifier: GPL-2.0
#include "trap_path.h"

#include "../linux_names/trap_path.h"
#include "kernel_functions.h"

namespace djprobe::kmod {
Refusal TrapPath::compute() {
    const KernelFunctions kernel;
    if (!kernel.is_ready()) return Refusal{Reason::NO_MEMORY};
    const djprobe_root* lacking = nullptr;
    const Refusal refusal = x86::find_trap_path(kernel, members_, count_, lacking);
    if (lacking)
        djk_lacks(lacking->name, lacking->of);
    else if (refusal)
        djk_warn("the code that runs on every int3 is not known from here on", refusal.detail[0]);
    return refusal;
}

bool TrapPath::contains(u64 function) const {
    for (size_t i = 0; i < count_; ++i)
        if (members_[i] == function) return true;
    return false;
}

}  // namespace djprobe::kmod
