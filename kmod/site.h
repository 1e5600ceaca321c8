// SPDX-License-Identifier: GPL-2.0
// Sites and probes: the registry's data, and who may touch which part when.
#pragma once

#include "../arch/x86/detour.h"
#include "../arch/x86/patch.h"
#include "glue/kernel.h"
#include "slots.h"

namespace djprobe::kmod {

/// The state of a site; the one truth about its text. Numbers are ABI (enum djprobe_state).
enum class State : u32 {
    Disarmed = 0,
    Armed = 1,
    Optimizing = 2,
    Optimized = 3,
    Unoptimizing = 4,
    Gone = 5,
};

/// Where an Optimizing site stands with respect to quiescence.
enum class Quiescence : u8 {
    Wanted,   ///< the optimizer has not seen it yet
    Running,  ///< int3 hits resume behind the region; the wait has begun after that
    Reached,  ///< nobody stands inside the region
};

/// One IA. Under the registry lock, but for `hit` and `next_in_bucket`, which hits read lock-free.
struct Site {
    djk_site hit{};  ///< first: the detour's argument
    State state = State::Disarmed;
    Quiescence quiescence = Quiescence::Wanted;
    x86::Plan plan;
    x86::PatchSite text;
    x86::DetourLayout layout;
    Slot slot;
    bool holds_module = false;       ///< see Registry::retire
    Site* next_in_bucket = nullptr;  ///< read lock-free
    Site* next = nullptr;            ///< in the registry's list, or in the garbage

    u64 address() const { return hit.address; }
    Range region() const { return {text.address, text.address + text.length}; }
    u64 out_of_line() const { return slot.address() + layout.out_of_line; }
    u64 displaced() const { return slot.address() + layout.displaced; }
    bool has_probes() const { return hit.probes != nullptr; }
};

/// Every site by address. Writers hold the registry lock; find() needs nothing.
class SiteTable {
  public:
    Site* find(u64 address) const;
    void insert(Site& site);
    /// The site may be found by hits that began before; free it after quiescence.
    void remove(Site& site);
    /// All sites, newest first.
    Site* first() const { return list_; }
    bool empty() const { return !list_; }

  private:
    static constexpr size_t kBuckets = 4096;
    static size_t bucket(u64 address) { return (address ^ address >> 12) % kBuckets; }

    Site* buckets_[kBuckets] = {};
    Site* list_ = nullptr;
};

}  // namespace djprobe::kmod
