// SPDX-License-Identifier: GPL-2.0
// Where control may land in the core kernel's text: built once, asked for every site.
#pragma once

#include "../arch/x86/landing.h"
#include "memory.h"
#include "site.h"

namespace djprobe::kmod {

/// What may land in a stretch of text: one landing for each address, so that none is ever dropped.
struct Landings {
    static constexpr size_t kMax = 2 * x86::kTacticReach;
    x86::Landing all[kMax];
    size_t count = 0;

    void add(const x86::Landing& landing) {
        for (size_t i = 0; i < count; ++i)
            if (all[i].target == landing.target) return;
        // Callers ask for at most kMax addresses.
        if (count < kMax) all[count++] = landing;
    }
};

/// Kernel-wide knowledge of landings. Under the registry lock.
class LandingIndex {
  public:
    /// Build the map of the core kernel on first use: one pass over text and rodata (about 20 ms on
    /// a real CPU, 1/8 of the text in memory). NO_INDEX when out of memory.
    Refusal ensure();

    /// All that may land in `targets`, with its true source: look-alikes are weeded out by decoding
    /// the function that they lie in. `targets` may be core or module text. Branches that `sites`
    /// have displaced count as if they were still in the text. At most Landings::kMax addresses.
    Refusal find(Range targets, const SiteTable& sites, Landings& out);

  private:
    Array<u8> bits_;
    x86::LandingMap map_;
};

}  // namespace djprobe::kmod
