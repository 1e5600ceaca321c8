// SPDX-License-Identifier: GPL-2.0
// Every instruction of functions that the load runs through: branches, calls and rip-relative
// operands among them. What an int3 counts there a jump must count, too.
#include <cerrno>
#include <cstdio>
#include <map>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

class Sweep : public ProbeTest {
  protected:
    static constexpr uint64_t kCalls = 40;

    void load() {
        EXPECT_EQ(reader_.read(kCalls), 0u);
        EXPECT_EQ(call_getpgid(kCalls), 0u);
    }

    struct Sites {
        std::vector<uint64_t> offsets, counts;
    };
    Sites count_by_int3(const std::string& symbol, size_t most) {
        const std::vector<Probe> probes = attach_everywhere(device_, counter(), symbol, most);
        load();
        Sites sites;
        for (const Probe& probe : probes) {
            const djprobe_query query = probe.query();
            sites.offsets.push_back(query.offset);
            sites.counts.push_back(query.hits);
            EXPECT_EQ(missed(query), 0u) << query.offset;
        }
        return sites;
    }

    /// Analysing a function takes time that grows with its size, hence `most` of its sites.
    void sweep(const std::string& symbol, size_t most);

    Reader reader_;
};

void Sweep::sweep(const std::string& symbol, size_t most) {
    SCOPED_TRACE(symbol);
    const auto [offsets, expected] = count_by_int3(symbol, most);
    // A kernel without security modules has its copy within its caller.
    if (symbol == "rw_verify_area" && expected[0] == 0) return;
    EXPECT_EQ(expected[0], kCalls) << "the load does not enter it once per call";
    std::map<uint32_t, int> reasons;
    size_t reached = 0;
    // As many at once as do not overlap; the others in the next round.
    std::vector<bool> done(offsets.size());
    for (size_t rest = offsets.size(); rest > 0;) {
        std::map<size_t, Probe> probes;
        uint64_t region_end = 0;
        for (size_t i = 0; i < offsets.size(); ++i) {
            if (done[i] || offsets[i] < region_end) continue;
            Answer answer = device_.attach(at(symbol, offsets[i]));
            if (answer.error && answer.reason == DJPROBE_REASON_OVERLAP) continue;
            ASSERT_EQ(answer.error, 0) << offsets[i] << ": " << describe(answer.reason);
            const djprobe_query query = answer.probe.query();
            if (query.reason == DJPROBE_REASON_OVERLAP) continue;
            region_end = offsets[i] + 1;
            if (query.reason == DJPROBE_REASON_NONE)
                region_end = query.anchor + query.displaced_len - (query.address - query.offset);
            probes[i] = std::move(answer.probe);
        }
        ASSERT_FALSE(probes.empty());
        std::map<size_t, uint32_t> reason;
        for (const auto& [i, probe] : probes)
            reason[i] = probe.settle().reason;
        load();
        for (const auto& [i, probe] : probes) {
            const djprobe_query query = probe.query();
            EXPECT_EQ(query.hits, expected[i])
                << "+" << offsets[i] << " " << describe(static_cast<djprobe_reason>(reason[i]));
            EXPECT_EQ(missed(query), 0u) << offsets[i];
            EXPECT_EQ(query.mechanism == DJPROBE_MECHANISM_JUMP,
                      query.reason == DJPROBE_REASON_NONE);
            ++reasons[query.reason];
            reached += query.hits > 0;
            done[i] = true;
            --rest;
        }
    }
    std::printf("%-22s %3zu sites, %3zu reached:", symbol.c_str(), offsets.size(), reached);
    for (const auto& [reason, count] : reasons) {
        const std::string text = describe(static_cast<djprobe_reason>(reason));
        std::printf(" %d %s", count, reason ? text.substr(0, text.find(' ')).c_str() : "jump");
    }
    std::printf("\n");
    EXPECT_GT(reasons[DJPROBE_REASON_NONE], 0) << "no jump at all";
}

TEST_F(Sweep, FunctionsOfPread) {
    sweep("__x64_sys_pread64", 25);
    sweep("rw_verify_area", 25);
    sweep("vfs_read", 20);
    sweep("seq_read_iter", 20);
}

TEST_F(Sweep, FunctionsOfGetpgid) {
    sweep("__x64_sys_getpgid", 100);
    sweep("do_getpgid", 25);
}

}  // namespace
}  // namespace djprobe::vm
