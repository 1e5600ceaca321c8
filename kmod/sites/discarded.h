// SPDX-License-Identifier: GPL-2.0
// What waits to be freed.
#pragma once

namespace djprobe::kmod {

/// The base, or a member, of an object that a CPU may still run or read although nothing leads to
/// it any more. Its owner gives it to Reclaimer::add().
struct Discarded {
    Discarded* next_discarded = nullptr;
    void (*free)(Discarded& self) = nullptr;
};

}  // namespace djprobe::kmod
