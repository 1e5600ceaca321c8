// SPDX-License-Identifier: GPL-2.0
// Some sites' patches, as the patch protocol takes them.
#pragma once

#include "site_list.h"

namespace djprobe::kmod {

/// A range of patches: those that make(const Site&) makes of the sites that choose(const Site&)
/// chooses.
template <class Choose, class Make>
class Picked {
  public:
    Picked(const SiteList& sites, Choose choose, Make make)
        : first_(sites.first()), choose_(choose), make_(make) {}

    /// One patch, made where it is used.
    class Handle {
      public:
        explicit Handle(const x86::PatchSite& patch) : patch_(patch) {}
        const x86::PatchSite& operator*() const { return patch_; }
        const x86::PatchSite* operator->() const { return &patch_; }

      private:
        x86::PatchSite patch_;
    };
    class Iterator {
      public:
        Iterator(const Site* site, const Picked& picked) : site_(site), picked_(picked) { skip(); }
        Handle operator*() const { return Handle(picked_.make_(*site_)); }
        bool operator!=(const Iterator& other) const { return site_ != other.site_; }
        Iterator& operator++() {
            site_ = site_->next_picked;
            skip();
            return *this;
        }

      private:
        void skip() {
            while (site_ && !picked_.choose_(*site_))
                site_ = site_->next_picked;
        }
        const Site* site_;
        const Picked& picked_;
    };
    Iterator begin() const { return {first_, *this}; }
    Iterator end() const { return {nullptr, *this}; }

  private:
    const Site* first_;
    Choose choose_;
    Make make_;
};

inline auto breakpoints(const SiteList& sites) {
    return Picked(
        sites, [](const Site& site) { return !site.joins_kprobe(); },
        [](const Site& site) { return site.breakpoint(); });
}
inline auto jumps(const SiteList& sites) {
    return Picked(
        sites, [](const Site&) { return true; }, [](const Site& site) { return site.jump(); });
}

}  // namespace djprobe::kmod
