// SPDX-License-Identifier: GPL-2.0
// What the kernel's kprobes decide about a function does not depend on our sites in it: where an
// instruction begins, and where a jump may be written. The kernel decodes the text for both, and
// our bytes must not mislead it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "../harness/crowd.h"
#include "../harness/fixture.h"
#include "../harness/function_text.h"
#include "../harness/kprobe_event.h"
#include "../harness/path_load.h"
#include "../harness/setting.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kJump = 5;
/// Twice the kernel's delay and a grace period of RCU tasks, on a busy machine.
constexpr useconds_t kUntilOptimized = 600'000;

std::vector<std::string> path_functions() {
    return {std::begin(kPathFunctions), std::end(kPathFunctions)};
}

class KprobeTruth : public ProbeTest {
  protected:
    void SetUp() override {
        // The first calls may change text: labels, static calls.
        ASSERT_EQ(use_paths(3), 0u);
        functions_ = read_functions(path_functions());
        ASSERT_GT(functions_.size(), std::size(kPathFunctions) / 2);
    }

    /// Our sites in one function, and which bytes they hold.
    struct Ours {
        Probe probes;
        std::set<uint64_t> bytes;
        uint32_t jumps = 0, int3s = 0;
    };
    Ours attach(std::vector<djprobe_site> sites, djprobe_mode mode);
    static void wait_for_all(const Probe& probes, uint32_t count);

    std::string name_of(const FunctionText& text, uint64_t address) const {
        return text.name + "+" + std::to_string(address - text.start);
    }

    std::vector<FunctionText> functions_;

  private:
    void add_bytes(const djprobe_query& query, std::set<uint64_t>& bytes) const;

    const Setting fast_grace_periods_{"/sys/kernel/rcu_expedited", 1};
};

void KprobeTruth::add_bytes(const djprobe_query& query, std::set<uint64_t>& bytes) const {
    const auto add = [&](uint64_t begin, uint64_t size) {
        for (uint64_t i = 0; i < size; ++i)
            bytes.insert(begin + i);
    };
    // A kprobe that has just left is still there for the kernel, which takes its jump back later. A
    // site that comes meanwhile takes part in it, and writes nothing.
    if (query.reason == DJPROBE_REASON_SHARED_KPROBE) return;
    if (query.mechanism != DJPROBE_MECHANISM_JUMP) return add(query.address, 1);
    add(query.anchor, query.displaced_len);
    add(query.address, 1);
    const Explained explained = device_.explain(at_address(query.address));
    if (explained.answer.board) add(explained.answer.board, kJump);
}

/// Until each site has what it will keep. The kernel takes the jump of a kprobe back some time
/// after that kprobe has left; a site that meets it stays at int3, and tries again a second later.
void KprobeTruth::wait_for_all(const Probe& probes, uint32_t count) {
    const bool all_have = wait_until([&] {
        probes.settle();
        for (uint32_t i = 0; i < count; ++i) {
            const djprobe_query query = probes.query(i);
            if (query.state == DJPROBE_STATE_OPTIMIZING) return false;
            if (query.reason == DJPROBE_REASON_TEXT_CHANGED) return false;
        }
        return true;
    });
    EXPECT_TRUE(all_have);
}

KprobeTruth::Ours KprobeTruth::attach(std::vector<djprobe_site> sites, djprobe_mode mode) {
    Ours ours;
    ManyAnswer answer = device_.attach_many(sites, counter(), mode);
    EXPECT_EQ(answer.error, 0) << describe(static_cast<djprobe_reason>(answer.request.reason));
    if (answer.error) return ours;
    ours.probes = std::move(answer.probes);
    wait_for_all(ours.probes, sites.size());
    for (uint32_t i = 0; i < sites.size(); ++i) {
        const djprobe_query query = ours.probes.query(i);
        add_bytes(query, ours.bytes);
        ++(query.mechanism == DJPROBE_MECHANISM_JUMP ? ours.jumps : ours.int3s);
    }
    return ours;
}

/// The kernel's answers for each byte of a function.
class EveryOffset : public KprobeTruth {
  protected:
    static constexpr uint64_t kBytes =
        256;  ///< of each function; each takes the guest milliseconds
    /// No jump of the kernel's is longer, so that kprobes this far apart do not keep each other
    /// from becoming jumps.
    static constexpr uint64_t kApart = 20;

    struct Verdict {
        int error = 0;  ///< errno of the registration, or 0
        bool optimized = false;
    };
    using Verdicts = std::map<uint64_t, Verdict>;

    /// Kprobes at all offsets, disabled; `registered` is called; then they are enabled in turns.
    /// What `known` refuses is never enabled, for it may not be an instruction.
    static Verdicts judge(
        const FunctionText& text, const Verdicts* known,
        const std::function<void()>& registered = [] {});
    /// `now` is with our sites at `ours`, or after they have gone.
    void compare(const FunctionText& text, const Verdicts& before, const Verdicts& now,
                 const std::set<uint64_t>& ours, const std::string& when);

    std::vector<djprobe_site> all_sites(const FunctionText& text) const;
    std::vector<djprobe_site> branches(const FunctionText& text) const;
    /// Jumps that displace branches, apart from each other; `nth` from 0 on gives others.
    std::vector<djprobe_site> jumps_over_branches(const FunctionText& text, size_t nth) const;
    void with_and_without_us(const FunctionText& text);

    uint64_t compared_ = 0, refused_on_ours_ = 0, jumps_ = 0, int3s_ = 0;
    uint64_t wrong_ = 0;
    void tell_wrong(const std::string& what) {
        // At once, for the guest may not live much longer.
        std::printf("  %s\n", what.c_str());
        std::fflush(stdout);
        ++wrong_;
    }

  private:
    void compare_one(const FunctionText& text, uint64_t address, Verdict before, Verdict now,
                     const std::set<uint64_t>& ours, const std::string& when);
};

bool has_jump(const KprobeEvent& event) {
    const std::set<uint64_t> optimized = optimized_kprobes();
    return std::ranges::any_of(event.addresses(),
                               [&](uint64_t address) { return optimized.contains(address); });
}

EveryOffset::Verdicts EveryOffset::judge(const FunctionText& text, const Verdicts* known,
                                         const std::function<void()>& registered) {
    std::vector<KprobeEvent> groups;
    for (uint64_t i = 0; i < kApart; ++i)
        groups.emplace_back("every" + std::to_string(i));
    KprobeEvent never("never");
    Verdicts verdicts;
    const uint64_t end = std::min(text.end, text.start + kBytes);
    for (uint64_t address = text.start; address < end; ++address) {
        const bool was_refused = known && known->at(address).error;
        KprobeEvent& event = was_refused ? never : groups[address % kApart];
        verdicts[address].error = event.add(address);
    }
    registered();
    for (KprobeEvent& group : groups) {
        EXPECT_EQ(group.enable(true), 0);
        const std::set<uint64_t> optimized = optimized_kprobes();
        // Before the kernel's optimizer gets to it, where it is wrong.
        EXPECT_EQ(group.enable(false), 0);
        for (const uint64_t address : group.addresses())
            verdicts[address].optimized = optimized.contains(address);
        // A slow guest may have let it: until the jumps are gone, the next group gets none beside.
        EXPECT_TRUE(wait_until([&] { return !has_jump(group); }));
    }
    return verdicts;
}

void EveryOffset::compare_one(const FunctionText& text, uint64_t address, Verdict before,
                              Verdict now, const std::set<uint64_t>& ours,
                              const std::string& when) {
    const auto is_wrong = [&](const std::string& what) {
        tell_wrong(name_of(text, address) + " " + when + ": " + what);
    };
    const auto within = [&](uint64_t begin, uint64_t end) {
        const auto first = ours.lower_bound(begin);
        return first != ours.end() && *first < end;
    };
    const uint64_t replaced = text.end_of_jump(address);
    if (before.error != now.error) {
        if (within(address, address + 1) && now.error) {
            ++refused_on_ours_;
        } else if (!now.error) {
            is_wrong(std::string("a kprobe is accepted, not refused: ") +
                     strerrorname_np(before.error));
        } else {
            is_wrong(std::string("a kprobe is refused: ") + strerrorname_np(now.error) + ", not " +
                     (before.error ? strerrorname_np(before.error) : "accepted"));
        }
    } else if (now.optimized && !before.optimized) {
        is_wrong("the kernel writes a jump that it must not write");
    } else if (now.optimized && within(address, address + kJump)) {
        is_wrong("the kernel writes a jump over our bytes");
    } else if (!now.optimized && before.optimized && !within(address, replaced)) {
        is_wrong("the kernel writes no jump where it may");
    }
}

void EveryOffset::compare(const FunctionText& text, const Verdicts& before, const Verdicts& now,
                          const std::set<uint64_t>& ours, const std::string& when) {
    for (const auto& [address, verdict] : before)
        compare_one(text, address, verdict, now.at(address), ours, when);
    compared_ += before.size();
}

djprobe_site site_at(uint64_t address) {
    djprobe_site site = {};
    site.address = address;
    return site;
}

std::vector<djprobe_site> EveryOffset::all_sites(const FunctionText& text) const {
    std::vector<djprobe_site> sites;
    for (const x86::Insn& insn : text.insns)
        if (device_.explain(at_address(insn.address)).is_site())
            sites.push_back(site_at(insn.address));
    return sites;
}

std::vector<djprobe_site> EveryOffset::branches(const FunctionText& text) const {
    std::vector<djprobe_site> sites;
    for (const x86::Insn& insn : text.insns)
        if (insn.target && device_.explain(at_address(insn.address)).is_site())
            sites.push_back(site_at(insn.address));
    return sites;
}

std::vector<djprobe_site> EveryOffset::jumps_over_branches(const FunctionText& text,
                                                           size_t nth) const {
    std::vector<djprobe_site> sites;
    uint64_t free_from = text.start;
    size_t seen = 0;
    for (const x86::Insn& insn : text.insns) {
        const djprobe_explain answer = device_.explain(at_address(insn.address)).answer;
        if (answer.verdict != DJPROBE_VERDICT_JUMP || answer.anchor < free_from) continue;
        const uint64_t behind = answer.anchor + answer.region_len;
        const bool over_a_branch = std::ranges::any_of(text.insns, [&](const x86::Insn& each) {
            return each.target && each.address >= answer.anchor && each.address < behind;
        });
        if (!over_a_branch || seen++ < nth) continue;
        sites.push_back(site_at(insn.address));
        free_from = behind + kApart;
    }
    return sites;
}

void EveryOffset::with_and_without_us(const FunctionText& text) {
    const Verdicts before = judge(text, nullptr);
    const auto with = [&](const std::vector<djprobe_site>& sites, djprobe_mode mode,
                          const std::string& when) {
        if (sites.empty()) return;
        Ours ours = attach(sites, mode);
        compare(text, before, judge(text, &before), ours.bytes, when);
        jumps_ += ours.jumps;
        int3s_ += ours.int3s;
    };
    with(jumps_over_branches(text, 0), DJPROBE_MODE_AUTO, "with our jumps over branches");
    with(jumps_over_branches(text, 2), DJPROBE_MODE_AUTO, "with other jumps over branches");
    with(branches(text), DJPROBE_MODE_INT3, "with our int3 at all branches");
    with(all_sites(text), DJPROBE_MODE_AUTO, "with all sites of the function");
    compare(text, before, judge(text, &before), {}, "when we have left");
}

TEST_F(EveryOffset, TheKernelDecidesAsWithoutUs) {
    size_t done = 0;
    for (const FunctionText& text : functions_) {
        // Small ones, for the kernel's answers take their time, and with some branches.
        if (text.end - text.start < 96 || text.end - text.start > kBytes * 2) continue;
        if (text.is_entered_from_cold || branches(text).size() < 4) continue;
        with_and_without_us(text);
        if (++done == 2) break;
    }
    EXPECT_EQ(done, 2u);
    EXPECT_GT(jumps_, 0u);
    EXPECT_GT(int3s_, 0u);
    std::printf("%lu answers compared; %lu refused on our bytes; %lu jumps and %lu int3s of ours\n",
                compared_, refused_on_ours_, jumps_, int3s_);
    EXPECT_EQ(wrong_, 0u);
}

// The decision is made when a kprobe is registered, and kept when we leave.
TEST_F(EveryOffset, WhatWasDecidedBesideUsIsStillRightWhenWeHaveLeft) {
    size_t done = 0;
    for (const FunctionText& text : functions_) {
        const std::vector<djprobe_site> sites = jumps_over_branches(text, 0);
        if (text.is_entered_from_cold || text.end - text.start > kBytes * 2 || sites.size() < 2)
            continue;
        const Verdicts before = judge(text, nullptr);
        for (const djprobe_mode mode : kBothModes) {
            Ours ours = attach(mode == DJPROBE_MODE_INT3 ? branches(text) : sites, mode);
            const Verdicts now = judge(text, &before, [&] { ours.probes.detach(); });
            for (const auto& [address, verdict] : now)
                if (verdict.optimized && !before.at(address).optimized)
                    tell_wrong(name_of(text, address) + ": the kernel writes a jump");
        }
        if (++done == 2) break;
    }
    EXPECT_EQ(done, 2u);
    EXPECT_EQ(wrong_, 0u);
}

/// A branch that leads into the bytes which a jump at `their_place` would replace, so that the
/// kernel must not write one, and a site of ours that hides the branch.
struct Pair {
    const FunctionText* text;
    uint64_t their_place;
    const x86::Insn* branch;
    uint64_t our_place;
};

class HiddenBranch : public KprobeTruth {
  protected:
    static constexpr uint64_t kTimes = 20;

    struct Kernels {
        Object object{"count"};
        Object::Link link;
        uint64_t counted() const { return object.sum("count", 0); }
    };
    static void start(Kernels& kernels, const FunctionText& text, uint64_t address) {
        kernels.link = kernels.object.kernel_kprobe("on_hit", text.name, address - text.start, 0);
    }
    static uint64_t hits_of_load(const std::function<uint64_t()>& counted) {
        const uint64_t before = counted();
        EXPECT_EQ(use_paths(kTimes), 0u);
        return counted() - before;
    }

    /// A place of ours whose bytes hold the branch and none of those at `their_place`.
    std::optional<uint64_t> hide(const FunctionText& text, uint64_t their_place,
                                 const x86::Insn& branch, djprobe_mode mode) const;
    /// At most `most`, of which the load reaches their place.
    std::vector<Pair> pairs(djprobe_mode mode, size_t most) const;
    void expect_no_jump(const Pair& pair, djprobe_mode mode);
};

std::optional<uint64_t> HiddenBranch::hide(const FunctionText& text, uint64_t their_place,
                                           const x86::Insn& branch, djprobe_mode mode) const {
    const uint64_t behind = text.end_of_jump(their_place);
    if (branch.address >= their_place && branch.address < behind) return {};
    if (mode == DJPROBE_MODE_INT3)
        return device_.explain(at_address(branch.address)).is_site()
                   ? std::optional<uint64_t>(branch.address)
                   : std::nullopt;
    for (const x86::Insn& insn : text.insns) {
        if (insn.address > branch.address || insn.address + 40 < branch.address) continue;
        const djprobe_explain answer = device_.explain(at_address(insn.address)).answer;
        const uint64_t end = answer.anchor + answer.region_len;
        if (answer.verdict == DJPROBE_VERDICT_JUMP && !answer.board &&
            answer.anchor <= branch.address && branch.address < end &&
            (end <= their_place || answer.anchor >= behind))
            return insn.address;
    }
    return {};
}

std::vector<Pair> HiddenBranch::pairs(djprobe_mode mode, size_t most) const {
    std::vector<Pair> found;
    for (const FunctionText& text : functions_) {
        size_t here = 0;
        for (const x86::Insn& insn : text.insns) {
            if (found.size() == most || here == 3) break;
            const x86::Insn* const branch = text.branch_into_jump(insn.address);
            if (!branch) continue;
            const auto ours = hide(text, insn.address, *branch, mode);
            if (!ours) continue;
            Kernels alone;
            start(alone, text, insn.address);
            if (!alone.link || !hits_of_load([&] { return alone.counted(); })) continue;
            EXPECT_FALSE(optimized_kprobes().contains(insn.address)) << "without us";
            found.push_back({&text, insn.address, branch, *ours});
            ++here;
        }
    }
    return found;
}

void HiddenBranch::expect_no_jump(const Pair& pair, djprobe_mode mode) {
    SCOPED_TRACE("ours at " + name_of(*pair.text, pair.our_place) + " hides the branch at +" +
                 std::to_string(pair.branch->address - pair.text->start) + " to +" +
                 std::to_string(pair.branch->target - pair.text->start) + ", theirs at +" +
                 std::to_string(pair.their_place - pair.text->start) + ", mode " +
                 std::to_string(mode));
    Kernels theirs;
    start(theirs, *pair.text, pair.their_place);
    const uint64_t their_hits = hits_of_load([&] { return theirs.counted(); });
    theirs.link.reset();
    Probe ours = device_.must_attach(at_address(pair.our_place, mode));
    wait_for_all(ours, 1);
    expect_mechanism(ours, mode);
    const uint64_t our_hits = hits_of_load([&] { return ours.hits(); });

    start(theirs, *pair.text, pair.their_place);
    ASSERT_TRUE(theirs.link) << "refused, but it is no byte of ours";
    // Else the load would not survive.
    ASSERT_FALSE(optimized_kprobes().contains(pair.their_place)) << "beside us";
    usleep(kUntilOptimized);
    ASSERT_FALSE(optimized_kprobes().contains(pair.their_place)) << "beside us, later";
    const uint64_t theirs_before = theirs.counted();
    EXPECT_EQ(hits_of_load([&] { return ours.hits(); }), our_hits) << "ours";
    EXPECT_EQ(theirs.counted() - theirs_before, their_hits) << "theirs";

    ours.detach();
    usleep(kUntilOptimized);
    ASSERT_FALSE(optimized_kprobes().contains(pair.their_place)) << "when we have left";
    EXPECT_EQ(hits_of_load([&] { return theirs.counted(); }), their_hits) << "theirs alone";
}

TEST_F(HiddenBranch, KeepsTheKernelFromWritingAJump) {
    for (const djprobe_mode mode : kBothModes) {
        const std::vector<Pair> found = pairs(mode, 6);
        EXPECT_GE(found.size(), 3u) << "mode " << mode;
        for (const Pair& pair : found)
            expect_no_jump(pair, mode);
        std::printf("mode %d: %zu pairs\n", mode, found.size());
    }
}

}  // namespace
}  // namespace djprobe::vm
