// SPDX-License-Identifier: GPL-2.0
// Who may not see kernel addresses (kptr_restrict) gets 0 wherever one is written back.
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "../harness/capability.h"
#include "../harness/fixture.h"
#include "../harness/setting.h"

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
    ManyAnswer attached = device_.attach_many(shown, counter());
    ASSERT_EQ(attached.error, 0);
    const Probe probes = std::move(attached.probes);
    {
        const Without syslog(CAP_SYSLOG);
        ASSERT_EQ(device_.attach_many(blank, counter()).error, 0);
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

/// The kernel's text and data.
class Image {
  public:
    Image() {
        begin_ = address_of("_stext");
        end_ = address_of("_end");
    }
    uint64_t begin() const { return begin_; }
    /// Whether an address of the kernel is among the bytes, whole or its lower half.
    template <class Struct>
    bool is_in(const Struct& bytes) const {
        const auto* const at = reinterpret_cast<const unsigned char*>(&bytes);
        for (size_t i = 0; i + 4 <= sizeof bytes; ++i) {
            int32_t half;
            std::memcpy(&half, at + i, sizeof half);
            const auto address = static_cast<uint64_t>(int64_t{half});
            if (address >= begin_ && address < end_) return true;
        }
        return false;
    }

  private:
    uint64_t begin_ = 0, end_ = 0;
};

/// Where a stranger would look for the kernel: text, what is none, modules, nothing at all.
std::vector<uint64_t> guesses(uint64_t text) {
    std::vector<uint64_t> all = {0, 1, 4096, 0xffff888000000000, 0xffffffffff600000, ~uint64_t{0}};
    for (uint64_t offset = 0; offset < 256; ++offset)
        all.push_back(text + offset);
    for (uint64_t address = 0xffffffff80000000; address < 0xffffffffc4000000; address += 2 << 20)
        all.push_back(address);
    return all;
}

constexpr uint32_t kWays[] = {0, DJPROBE_ATTACH_RETURN,
                              DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW};

TEST_F(Hidden, EveryGuessedAddressHasTheSameAnswer) {
    const Image image;
    ASSERT_NE(image.begin(), 0u);
    const auto [seen, _] = both([&] { return device_.explain(at_address(image.begin())).error; });
    EXPECT_NE(seen, -EPERM) << "who may see addresses may name them";
    const Without syslog(CAP_SYSLOG);
    for (const uint64_t guess : guesses(image.begin())) {
        for (const uint32_t flags : kWays) {
            Request request = at_address(guess);
            request.flags = flags;
            Explained explained = device_.explain(request);
            ASSERT_EQ(explained.error, -EPERM) << std::hex << guess;
            djprobe_explain expected = {};
            expected.size = sizeof expected;
            expected.flags = flags;
            expected.reason = DJPROBE_REASON_ADDRESSES_HIDDEN;
            ASSERT_EQ(std::memcmp(&explained.answer, &expected, sizeof expected), 0);

            const Answer answer = device_.attach(request);
            ASSERT_EQ(answer.error, -EPERM) << std::hex << guess;
            ASSERT_EQ(answer.reason, DJPROBE_REASON_ADDRESSES_HIDDEN);
            ASSERT_EQ(answer.address | answer.detail[0] | answer.detail[1], 0u);

            djprobe_site named = {};
            named.symbol = reinterpret_cast<uintptr_t>(kGetpgid);
            djprobe_site guessed = {};
            guessed.address = guess;
            guessed.flags = flags;
            std::vector<djprobe_site> sites = {named, guessed};
            const ManyAnswer many = device_.attach_many(sites, counter());
            ASSERT_EQ(many.error, -EPERM) << std::hex << guess;
            ASSERT_EQ(many.request.failed, 1u);
            ASSERT_EQ(many.request.reason, uint32_t{DJPROBE_REASON_ADDRESSES_HIDDEN});
            ASSERT_EQ(many.request.detail[0] | many.request.detail[1], 0u);
            ASSERT_EQ(sites[1].address, 0u);
        }
    }
}

TEST_F(Hidden, NoAnswerHoldsAnAddressOfTheKernel) {
    const Image image;
    int shown = 0;
    for (const char* function : kFunctions)
        for (uint64_t offset = 0; offset < kBytes; ++offset) {
            auto [seen, hidden] = both([&] { return explain(function, offset); });
            // What is the caller's own may look like anything.
            seen.symbol = hidden.symbol = seen.offset = hidden.offset = 0;
            seen.address = seen.anchor = seen.board = seen.detail[0] = seen.detail[1] = 0;
            shown += image.is_in(seen);
            ASSERT_FALSE(image.is_in(hidden)) << function << offset;
        }
    EXPECT_GT(shown, 0) << "no displaced instruction held an address";

    const Probe probe = device_.must_attach(at(kGetpgid));
    probe.settle();
    const auto [told, blank] = both([&] { return probe.query(); });
    EXPECT_TRUE(image.is_in(told));
    EXPECT_FALSE(image.is_in(blank));
    const djprobe_query empty = {};
    EXPECT_NE(std::memcmp(told.displaced, empty.displaced, sizeof empty.displaced), 0);
    EXPECT_EQ(std::memcmp(blank.displaced, empty.displaced, sizeof empty.displaced), 0);
    EXPECT_EQ(blank.displaced_len, told.displaced_len);
    EXPECT_EQ(blank.offset, told.offset);
}

// An fd that is passed on gives its new owner no more than who opened it had, and no more than he
// has himself.
TEST_F(Hidden, WhoOpenedTheFdCountsToo) {
    const auto open_without = [] {
        const Without syslog(CAP_SYSLOG);
        return Device();
    };
    const Device theirs = open_without();
    const djprobe_explain answer = theirs.explain(at("vfs_read")).answer;
    EXPECT_EQ(answer.verdict, DJPROBE_VERDICT_JUMP);
    EXPECT_EQ(answer.address | answer.anchor, 0u);
    EXPECT_EQ(theirs.explain(at_address(address_of("vfs_read"))).error, -EPERM);
    Probe probe;
    {
        const Without syslog(CAP_SYSLOG);
        probe = device_.must_attach(at(kGetpgid));
    }
    EXPECT_EQ(probe.settle().address, 0u);

    const auto first_line = [](int fd) {
        char line[17] = {};
        EXPECT_EQ(pread(fd, line, 16, 0), 16);
        return std::string(line);
    };
    constexpr const char* kList = "/sys/kernel/debug/djprobe/list";
    const Fd ours(open(kList, O_RDONLY | O_CLOEXEC));
    EXPECT_NE(first_line(ours.get()), std::string(16, '0'));
    const Without syslog(CAP_SYSLOG);
    EXPECT_EQ(first_line(Fd(open(kList, O_RDONLY | O_CLOEXEC)).get()), std::string(16, '0'));
}

}  // namespace
}  // namespace djprobe::vm
