// SPDX-License-Identifier: GPL-2.0
// Who may not see kernel addresses (kptr_restrict) gets 0 wherever one is written back.
#include <cstdio>
#include <utility>

#include "capability.h"
#include "fixture.h"
#include "setting.h"

namespace djprobe::vm {
namespace {

class Hidden : public ProbeTest {
  protected:
    /// `question`'s answer to who may see addresses, and to who may not.
    template <class Question>
    static auto both(Question question) {
        const auto seen = question();
        const Without syslog(CAP_SYSLOG);
        return std::pair(seen, question());
    }
    djprobe_explain explain(const char* function, uint64_t offset) const {
        return device_.explain(at(function, offset)).answer;
    }
    static void expect_none(const __u64 (&detail)[2]) {
        EXPECT_EQ(detail[0], 0u);
        EXPECT_EQ(detail[1], 0u);
    }
    static void expect_hidden(const djprobe_query& seen, const djprobe_query& hidden) {
        EXPECT_NE(seen.address, 0u);
        EXPECT_NE(seen.anchor, 0u);
        EXPECT_EQ(hidden.address, 0u);
        EXPECT_EQ(hidden.anchor, 0u);
        expect_none(hidden.detail);
        EXPECT_EQ(hidden.hits, seen.hits);
    }

  private:
    /// Addresses are for those with CAP_SYSLOG, meanwhile.
    const Setting restricted_{"/proc/sys/kernel/kptr_restrict", 1};
};

/// Some have sites that stay int3, some springboards.
constexpr const char* kFunctions[] = {"vfs_read",       "vfs_write",     "do_mmap",
                                      "__sys_setfsuid", "__get_fs_type", "__ptrace_may_access",
                                      "memparse"};
constexpr uint64_t kBytes = 400;  // of each

TEST_F(Hidden, Explain) {
    int addresses = 0, details = 0, boards = 0;
    for (const char* function : kFunctions)
        for (uint64_t offset = 0; offset < kBytes; ++offset) {
            const auto [seen, hidden] = both([&] { return explain(function, offset); });
            addresses += seen.address && seen.anchor;
            details += seen.detail[0] != 0;
            boards += seen.board != 0;
            ASSERT_EQ(hidden.address | hidden.anchor | hidden.board, 0u) << function << offset;
            ASSERT_EQ(hidden.detail[0] | hidden.detail[1], 0u) << function << offset;
            ASSERT_EQ(hidden.verdict, seen.verdict) << function << offset;
            ASSERT_EQ(hidden.reason, seen.reason) << function << offset;
        }
    // Else there was nothing to hide.
    EXPECT_GT(addresses, 100);
    EXPECT_GT(details, 100);
    EXPECT_GT(boards, 0);
    std::printf("%d addresses, %d details, %d springboards\n", addresses, details, boards);
}

TEST_F(Hidden, AttachAndQuery) {
    const auto [seen, hidden] = both([&] { return device_.attach(at(kGetpgid)).address; });
    EXPECT_NE(seen, 0u);
    EXPECT_EQ(hidden, 0u);
    const Probe probe = device_.must_attach(at(kGetpgid));
    probe.settle();
    const auto [shown, blank] = both([&] { return probe.query(); });
    expect_hidden(shown, blank);
}

TEST_F(Hidden, ARefusalsDetail) {
    const auto refused = [&] {
        const Answer answer = device_.attach(at("vfs_read", 1));
        EXPECT_EQ(answer.reason, DJPROBE_REASON_NOT_BOUNDARY);
        return std::pair(answer.address | answer.detail[0], answer.detail[1]);
    };
    const auto [seen, hidden] = both(refused);
    EXPECT_NE(seen.first, 0u);
    EXPECT_NE(seen.second, 0u);
    EXPECT_EQ(hidden.first, 0u);
    EXPECT_EQ(hidden.second, 0u);
}

TEST_F(Hidden, OfManyAndOfAReasonForInt3) {
    std::vector<djprobe_site> sites;
    for (const char* function : kFunctions)
        for (uint64_t offset = 0; offset < kBytes && sites.size() < 40; ++offset) {
            const djprobe_explain answer = explain(function, offset);
            if (answer.verdict != DJPROBE_VERDICT_INT3 || !answer.detail[0]) continue;
            djprobe_site site = {};
            site.symbol = reinterpret_cast<uintptr_t>(function);
            site.offset = offset;
            sites.push_back(site);
        }
    ASSERT_FALSE(sites.empty());
    std::vector<djprobe_site> shown = sites, blank = sites;
    ASSERT_EQ(device_.attach_many(shown, counter()).error, 0);
    Probe probes;
    {
        const Without syslog(CAP_SYSLOG);
        ManyAnswer answer = device_.attach_many(blank, counter());
        ASSERT_EQ(answer.error, 0);
        probes = std::move(answer.probes);
    }
    for (size_t i = 0; i < sites.size(); ++i) {
        EXPECT_NE(shown[i].address, 0u);
        EXPECT_NE(shown[i].detail[0], 0u);
        EXPECT_EQ(blank[i].address, 0u);
        expect_none(blank[i].detail);
        EXPECT_EQ(blank[i].reason, shown[i].reason);
    }
    const auto query_many = [&] {
        std::vector<djprobe_query> queries(sites.size());
        djprobe_query_many request = {};
        request.size = sizeof request;
        request.count = static_cast<uint32_t>(queries.size());
        request.entry_size = sizeof queries[0];
        request.queries = reinterpret_cast<uintptr_t>(queries.data());
        EXPECT_EQ(call_ioctl(probes.fd(), DJPROBE_IOC_QUERY_MANY, &request), 0);
        return queries;
    };
    probes.settle();
    const auto [seen, hidden] = both(query_many);
    bool details = false;
    for (size_t i = 0; i < sites.size(); ++i) {
        EXPECT_NE(seen[i].address, 0u);
        EXPECT_EQ(hidden[i].address | hidden[i].anchor, 0u);
        expect_none(hidden[i].detail);
        details |= seen[i].detail[0] != 0;
    }
    EXPECT_TRUE(details) << "nothing was there to be hidden";
}

}  // namespace
}  // namespace djprobe::vm
