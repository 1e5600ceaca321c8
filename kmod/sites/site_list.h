// SPDX-License-Identifier: GPL-2.0
// Some sites that are handled together, and share their core syncs.
#pragma once

#include "site.h"

namespace djprobe::kmod {

/// Some sites, by a link of their own. A site is in one such list at most, and no list lives across
/// a pause of the registry lock.
class SiteList {
  public:
    SiteList() = default;
    SiteList(const SiteList&) = delete;
    SiteList& operator=(const SiteList&) = delete;

    void add(Site& site) {
        site.next_picked = nullptr;
        *tail_ = &site;
        tail_ = &site.next_picked;
    }
    Site* take_first() {
        Site* site = first_;
        if (!site) return nullptr;
        first_ = site->next_picked;
        if (!first_) tail_ = &first_;
        return site;
    }
    Site* first() const { return first_; }

    class Iterator {
      public:
        explicit Iterator(Site* site) : site_(site) {}
        Site& operator*() const { return *site_; }
        bool operator!=(const Iterator& other) const { return site_ != other.site_; }
        Iterator& operator++() {
            site_ = site_->next_picked;
            return *this;
        }

      private:
        Site* site_;
    };
    Iterator begin() const { return Iterator(first_); }
    Iterator end() const { return Iterator(nullptr); }

  private:
    Site* first_ = nullptr;
    Site** tail_ = &first_;
};

}  // namespace djprobe::kmod
