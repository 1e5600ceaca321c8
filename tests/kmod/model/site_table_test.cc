// SPDX-License-Identifier: GPL-2.0
// Many sites: each is found near its address, and no other.
#include "kmod/sites/site_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "sites.h"

namespace djprobe::model {
namespace {

using kmod::Site;
using kmod::SiteTable;

constexpr u64 kBegin = 0x100000;
constexpr u64 kDistance = 96;

std::unique_ptr<Site> make_site(u64 address) {
    auto site = std::make_unique<Site>();
    site->trap.address = address;
    site->trap.site = &site->hit;
    return site;
}

std::set<u64> found_near(const SiteTable& table, u64 address) {
    std::set<u64> found;
    table.for_each_near({address, address + 1}, [&](const Site& site) {
        EXPECT_TRUE(found.insert(site.address()).second);
    });
    return found;
}

TEST(SiteTable, FindsEachOfManyAndForgetsEach) {
    const Session session(1);  // whose memory it takes
    constexpr size_t kCount = 20'000;
    const auto table = std::make_unique<SiteTable>();
    std::vector<std::unique_ptr<Site>> sites;
    for (size_t i = 0; i < kCount; ++i) {
        sites.push_back(make_site(kBegin + i * kDistance));
        table->insert(*sites.back());
    }
    for (size_t i = 0; i < kCount; i += 2)
        table->remove(*sites[i]);
    for (size_t i = 0; i < kCount; ++i) {
        const u64 address = sites[i]->address();
        const bool removed = i % 2 == 0;
        EXPECT_EQ(table->find(address), removed ? nullptr : sites[i].get());
        const std::set<u64> near = found_near(*table, address);
        EXPECT_EQ(near.count(address), removed ? 0U : 1U);
        // Within the reach of all tactics, and some more.
        EXPECT_LE(near.size(), 8U);
        if (i + 1 < kCount) EXPECT_EQ(near.count(address + kDistance), removed ? 1U : 0U);
    }
    for (size_t i = 1; i < kCount; i += 2)
        table->remove(*sites[i]);
    EXPECT_EQ(table->first(), nullptr);
    EXPECT_TRUE(found_near(*table, kBegin).empty());
}

}  // namespace
}  // namespace djprobe::model
