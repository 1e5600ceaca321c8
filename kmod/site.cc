// SPDX-License-Identifier: GPL-2.0
#include "site.h"

namespace djprobe::kmod {

Site* SiteTable::find(u64 address) const {
    // Acquire pairs with the releases below: a reader sees a site only when it is complete.
    Site* site = __atomic_load_n(&buckets_[bucket(address)], __ATOMIC_ACQUIRE);
    while (site && site->address() != address)
        site = __atomic_load_n(&site->next_in_bucket, __ATOMIC_ACQUIRE);
    return site;
}

void SiteTable::insert(Site& site) {
    Site*& head = buckets_[bucket(site.address())];
    site.next_in_bucket = head;
    __atomic_store_n(&head, &site, __ATOMIC_RELEASE);
    site.next = list_;
    list_ = &site;
}

void SiteTable::remove(Site& site) {
    Site** link = &buckets_[bucket(site.address())];
    while (*link != &site)
        link = &(*link)->next_in_bucket;
    // The removed site keeps its own link: a reader that stands on it goes on.
    __atomic_store_n(link, site.next_in_bucket, __ATOMIC_RELEASE);

    link = &list_;
    while (*link != &site)
        link = &(*link)->next;
    *link = site.next;
    site.next = nullptr;
}

}  // namespace djprobe::kmod
