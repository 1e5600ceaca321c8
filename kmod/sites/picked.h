// SPDX-License-Identifier: GPL-2.0
// Some sites' patches, as the patch protocol takes them.
#pragma once

#include "site_list.h"

namespace djprobe::kmod {

/// A range of patches: `pick(const Site&)` says which patch of a site belongs to it, or nullptr for
/// none.
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

}  // namespace djprobe::kmod
