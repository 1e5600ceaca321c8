// SPDX-License-Identifier: GPL-2.0
// Every instruction of the module of hostile functions (vm/guest/hostile): its verdict, and that a
// probe there counts exactly and changes nothing, by int3 and by jump. The script has loaded it.
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdio>
#include <map>

#include "../../hostile/functions.h"
#include "../../symbols.h"
#include "../harness/fixture.h"
#include "../harness/hostile_caller.h"
#include "hostile_sites.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kArguments[] = {0, 1, 2, 5};
constexpr const char* kFunctions[] = {
#define NAME(name) "hostile_" #name,
    HOSTILE_FUNCTIONS(NAME)
#undef NAME
};
constexpr size_t kCount = std::size(kFunctions);

constexpr const char* kTactics[] = {"window", "slide", "springboard"};

/// "window", "int3 branch-into-region", "no extable-insn".
std::string verdict_of(const djprobe_explain& answer) {
    const std::string reason = describe(static_cast<djprobe_reason>(answer.reason));
    const std::string name = reason.substr(0, reason.find(' '));
    switch (answer.verdict) {
        case DJPROBE_VERDICT_JUMP:
            return kTactics[answer.tactic];
        case DJPROBE_VERDICT_INT3:
            return "int3 " + name;
        default:
            return "no " + name;
    }
}

/// As the verdict and the mode promise.
bool has_mechanism(const HostileSite& site, const djprobe_query& query, djprobe_mode mode) {
    const bool stays = mode == DJPROBE_MODE_INT3 || std::string(site.verdict).starts_with("int3 ");
    const std::string expected = stays ? "int3" : site.verdict;
    const bool jump = query.mechanism == DJPROBE_MECHANISM_JUMP;
    const std::string found = jump ? kTactics[query.tactic] : "int3";
    EXPECT_EQ(found, expected) << site.function << "+" << site.offset << " "
                               << describe(static_cast<djprobe_reason>(query.reason));
    return found == expected;
}

/// Of the module's functions, out of one pass over kallsyms.
std::map<std::string, uint64_t> hostile_addresses() {
    std::map<std::string, uint64_t> addresses;
    const Kallsyms now = Kallsyms::read();
    for (const Symbol& symbol : now.symbols())
        if (symbol.module == "hostile") addresses[std::string(symbol.name)] = symbol.address;
    return addresses;
}

class Hostile : public ProbeTest {
  protected:
    void SetUp() override {
        const auto addresses = hostile_addresses();
        for (size_t i = 0; i < kCount; ++i) {
            ASSERT_TRUE(addresses.contains(kFunctions[i])) << kFunctions[i];
            starts_[i] = addresses.at(kFunctions[i]);
        }
    }
    djprobe_explain explain(uint64_t address) const {
        const Explained explained = device_.explain(at_address(address));
        EXPECT_EQ(explained.error, 0) << std::hex << address;
        return explained.answer;
    }
    using Sites = std::map<uint64_t, const HostileSite*>;  ///< by address
    /// All that take a probe, in rounds of such as cannot be in each other's way.
    std::vector<Sites> rounds() const;
    void probe_at_once(const Sites& sites, djprobe_mode mode);

    using Results = std::map<std::pair<size_t, uint64_t>, uint64_t>;
    Results run_all() const {
        Results results;
        for (const uint64_t argument : kArguments)
            for (size_t i = 0; i < kCount; ++i)
                results[{i, argument}] = caller_(i, argument);
        return results;
    }

    uint64_t starts_[kCount] = {};
    HostileCaller caller_;
    Results unprobed_;
    size_t tested_ = 0, jumps_ = 0;
};

std::vector<Hostile::Sites> Hostile::rounds() const {
    // A springboard takes its bytes from anywhere within reach of a short jump, others from the
    // instructions around them.
    constexpr uint64_t kNear = 48, kFar = 300;
    const auto is_board = [](const HostileSite& site) {
        return std::string(site.verdict) == "springboard";
    };
    Sites left;
    for (size_t i = 0; i < kCount; ++i)
        for (const HostileSite& site : kHostileSites)
            if (std::string("hostile_") + site.function == kFunctions[i] &&
                !std::string(site.verdict).starts_with("no "))
                left[starts_[i] + site.offset] = &site;
    std::vector<Sites> rounds;
    while (!left.empty()) {
        Sites& round = rounds.emplace_back();
        std::erase_if(left, [&](const auto& next) {
            if (!round.empty()) {
                const auto& [address, site] = *round.rbegin();
                // Springboards keep among themselves: what is near and what is far is then plain.
                if (is_board(*site) != is_board(*next.second)) return false;
                if (next.first - address < (is_board(*site) ? kFar : kNear)) return false;
            }
            round.insert(next);
            return true;
        });
    }
    return rounds;
}

void Hostile::probe_at_once(const Sites& sites, djprobe_mode mode) {
    std::vector<djprobe_site> requests;
    for (const auto& [address, site] : sites) {
        djprobe_site request = {};
        request.address = address;
        requests.push_back(request);
    }
    const ManyAnswer answer = device_.attach_many(requests, counter(), mode);
    ASSERT_EQ(answer.error, 0) << describe(static_cast<djprobe_reason>(answer.request.reason));
    (void)answer.probes.settle();
    bool as_promised = true;
    uint32_t index = 0;
    for (const auto& [address, site] : sites) {
        const djprobe_query query = answer.probes.query(index++);
        as_promised &= has_mechanism(*site, query, mode);
        jumps_ += query.mechanism == DJPROBE_MECHANISM_JUMP;
    }
    // A wrong jump is not to be run through.
    if (!as_promised) return;
    const Results results = run_all();
    for (const auto& [key, value] : unprobed_)
        EXPECT_EQ(results.at(key), value)
            << kFunctions[key.first] << "(" << key.second << ") with probes from "
            << sites.begin()->second->function << "+" << sites.begin()->second->offset << " on";
    index = 0;
    for (const auto& [address, site] : sites) {
        const djprobe_query query = answer.probes.query(index++);
        EXPECT_EQ(query.address, address);
        EXPECT_EQ(query.hits, site->hits)
            << site->function << "+" << site->offset << " mode " << mode;
        EXPECT_EQ(missed(query), 0u);
        ++tested_;
    }
}

TEST_F(Hostile, EachInstructionHasItsVerdict) {
    std::map<std::string, int> seen;
    size_t next = 0;
    for (size_t i = 0; i < kCount; ++i) {
        const std::string function = kFunctions[i] + std::string("hostile_").size();
        for (uint64_t at = starts_[i];; ++at) {
            const djprobe_explain answer = explain(at);
            if (answer.reason == DJPROBE_REASON_PAST_END) break;
            if (answer.reason == DJPROBE_REASON_NOT_BOUNDARY) continue;
            const std::string verdict = verdict_of(answer);
            ++seen[verdict];
            const uint64_t offset = at - starts_[i];
            const bool expected = next < std::size(kHostileSites) &&
                                  function == kHostileSites[next].function &&
                                  offset == kHostileSites[next].offset;
            if (expected && verdict == kHostileSites[next].verdict) {
                ++next;
                continue;
            }
            ADD_FAILURE() << "found {\"" << function << "\", " << offset << ", \"" << verdict
                          << "\"} detail " << std::hex << answer.detail[0] - starts_[i] << " "
                          << answer.detail[1] - starts_[i];
            next += expected;
        }
    }
    EXPECT_EQ(next, std::size(kHostileSites));
    for (const auto& [verdict, count] : seen)
        std::printf("%5d %s\n", count, verdict.c_str());
}

TEST_F(Hostile, TrampolinesOfStaticCalls) {
    for (const char* symbol : {"hostile:__SCT__hostile_led", "hostile:__SCT__hostile_idle"}) {
        const Answer answer = device_.attach(at(symbol, 0, DJPROBE_MODE_INT3));
        EXPECT_EQ(answer.error, -EACCES) << symbol;
        EXPECT_EQ(describe(answer.reason), describe(DJPROBE_REASON_STATIC_CALL)) << symbol;
    }
}

TEST_F(Hostile, ProbesCountExactlyAndChangeNothing) {
    unprobed_ = run_all();
    EXPECT_EQ(run_all(), unprobed_) << "the functions are not functions";
    // One quiescence for each round, not for each site.
    const std::vector<Sites> all = rounds();
    size_t sites = 0;
    for (const Sites& round : all)
        sites += round.size();
    for (const djprobe_mode mode : kBothModes)
        for (const Sites& round : all)
            probe_at_once(round, mode);
    EXPECT_EQ(tested_, sites * std::size(kBothModes));
    EXPECT_GT(jumps_, 0u);
    EXPECT_EQ(run_all(), unprobed_) << "afterwards";
    std::printf("%zu probes in %zu rounds, %zu of them jumps\n", tested_, all.size(), jumps_);
}

}  // namespace
}  // namespace djprobe::vm
