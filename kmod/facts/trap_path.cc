// SPDX-License-Identifier: GPL-2.0
#include "trap_path.h"

#include "../linux_names/trap_path.h"
#include "kernel_functions.h"

namespace djprobe::kmod {
namespace {

/// By insertion: they are some hundreds, once.
void sort(Span<u64> numbers) {
    for (size_t i = 1; i < numbers.size(); ++i)
        for (size_t at = i; at && numbers[at - 1] > numbers[at]; --at) {
            const u64 smaller = numbers[at];
            numbers[at] = numbers[at - 1];
            numbers[at - 1] = smaller;
        }
}

}  // namespace

Refusal TrapPath::compute() {
    const KernelFunctions kernel;
    if (!kernel.is_ready()) return Refusal{Reason::NO_MEMORY};
    const djprobe_root* lacking = nullptr;
    const Refusal refusal = x86::find_trap_path(kernel, members_, count_, lacking);
    if (lacking)
        djk_lacks(lacking->name, lacking->of);
    else if (refusal)
        djk_warn("the code that runs on every int3 is not known from here on", refusal.detail[0]);
    sort({members_, count_});
    return refusal;
}

bool TrapPath::contains(u64 function) const {
    const Span<const u64> members = {members_, count_};
    const size_t at = first_from(members, function, [](u64 member) { return member; });
    return at < count_ && members_[at] == function;
}

}  // namespace djprobe::kmod
