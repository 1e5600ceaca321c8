// SPDX-License-Identifier: GPL-2.0
// What the registry's parts share: a site's state and the text that goes with it.
#pragma once

#include "patched_text.h"
#include "../probes/registry.h"
#include "../facts/kernel_text.h"

namespace djprobe::kmod {

using x86::TextForm;

/// An int3 or a jump of ours is in the text.
inline bool is_live(State state) {
    return state != State::Disarmed && state != State::Gone;
}

inline void set_state(Site& site, State state) {
    // Waiters and hits look without the lock.
    __atomic_store(&site.state, &state, __ATOMIC_RELEASE);
}

inline void set_resume(Site& site, u64 address) {
    __atomic_store_n(&site.trap.resume, address, __ATOMIC_RELEASE);
}

/// The patches that `pick(const Site&)` chooses from a list (nullptr: not this one), as the patch
/// protocol takes them.
template <class Pick>
class Picked {
  public:
    Picked(const SiteList& sites, Pick pick) : first_(sites.first()), pick_(pick) {}

    class Iterator {
      public:
        Iterator(const Site* site, const Pick& pick) : site_(site), pick_(pick) { skip(); }
        const x86::PatchSite* operator*() const { return pick_(*site_); }
        bool operator!=(const Iterator& other) const { return site_ != other.site_; }
        Iterator& operator++() {
            site_ = site_->next_picked;
            skip();
            return *this;
        }

      private:
        void skip() {
            while (site_ && !pick_(*site_))
                site_ = site_->next_picked;
        }
        const Site* site_;
        const Pick& pick_;
    };
    Iterator begin() const { return {first_, pick_}; }
    Iterator end() const { return {nullptr, pick_}; }

  private:
    const Site* first_;
    Pick pick_;
};

inline auto breakpoints(const SiteList& sites) {
    return Picked(
        sites, [](const Site& site) { return site.joins_kprobe() ? nullptr : &site.breakpoint; });
}
inline auto jumps(const SiteList& sites) {
    return Picked(sites, [](const Site& site) { return &site.code.jump; });
}

/// Whether the text around a live site is what its state says. Somebody else may have patched.
Refusal check_site_text(KernelText& text, const Site& site);

/// The same, and nobody is about to patch where the jump will be.
Refusal check_to_optimize(KernelText& text, const Site& site);

}  // namespace djprobe::kmod
