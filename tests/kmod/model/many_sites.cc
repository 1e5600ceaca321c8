// SPDX-License-Identifier: GPL-2.0
#include "many_sites.h"

#include "kmod/sites/site_table.h"

namespace djprobe::model {

using kmod::Array;
using kmod::Box;
using kmod::Site;
using kmod::SiteTable;

struct ManySites::All {
    u64 begin, distance;
    Box<SiteTable> table = Box<SiteTable>::create();
    Array<Site*> sites;

    u64 address(size_t site) const { return begin + site * distance; }
    template <class Use>
    void for_each_near(size_t site, Use&& use) const {
        table->for_each_near({address(site), address(site) + 1}, use);
    }
};

ManySites::ManySites(size_t count, u64 begin, u64 distance)
    : all_(new All{.begin = begin, .distance = distance, .sites = Array<Site*>(count)}) {
    for (size_t i = 0; i < count; ++i) {
        Site* const site = all_->sites[i] = new Site(kmod::Stay::Long);
        site->hit.trap.address = all_->address(i);
        site->hit.trap.site = &site->hit;
        all_->table->insert(*site);
    }
}

ManySites::~ManySites() {
    for (size_t i = 0; i < all_->sites.size(); ++i)
        if (all_->sites[i]) remove(i);
    delete all_;
}

void ManySites::remove(size_t site) {
    all_->table->remove(*all_->sites[site]);
    delete all_->sites[site];
    all_->sites[site] = nullptr;
}

bool ManySites::finds(size_t site) const {
    const Site* const found = all_->table->find(all_->address(site));
    return found && found == all_->sites[site];
}

bool ManySites::finds_near(size_t site, size_t other) const {
    size_t found = 0;
    all_->for_each_near(site, [&](const Site& near) { found += &near == all_->sites[other]; });
    return found == 1;
}

size_t ManySites::count_near(size_t site) const {
    size_t count = 0;
    all_->for_each_near(site, [&](const Site&) { ++count; });
    return count;
}

}  // namespace djprobe::model
