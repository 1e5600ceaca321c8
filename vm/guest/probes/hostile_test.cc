// SPDX-License-Identifier: GPL-2.0
// Every instruction of the module of hostile functions (vm/guest/hostile): its verdict, and that a
// probe there counts exactly and changes nothing, by int3 and by jump. The script has loaded it.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "../hostile/functions.h"
#include "fixture.h"
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

/// Calls one function by its number.
class Caller {
  public:
    Caller() : file_(open("/sys/kernel/debug/hostile/run", O_RDWR | O_CLOEXEC)) {}
    uint64_t operator()(size_t number, uint64_t argument) const {
        const std::string text = std::to_string(number) + " " + std::to_string(argument);
        uint64_t result = 0;
        EXPECT_EQ(pwrite(file_.get(), text.data(), text.size(), 0),
                  static_cast<ssize_t>(text.size()));
        EXPECT_EQ(pread(file_.get(), &result, sizeof result, 0),
                  static_cast<ssize_t>(sizeof result));
        return result;
    }

  private:
    Fd file_;
};

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

class Hostile : public ProbeTest {
  protected:
    void SetUp() override {
        for (size_t i = 0; i < kCount; ++i) {
            starts_[i] = address_of(kFunctions[i], "hostile");
            ASSERT_NE(starts_[i], 0u) << kFunctions[i];
        }
    }
    djprobe_explain explain(uint64_t address) const {
        djprobe_explain answer = {};
        answer.size = sizeof answer;
        answer.address = address;
        EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_EXPLAIN, &answer), 0) << std::hex << address;
        return answer;
    }
    /// The sites of a function that take a probe, in order.
    static std::vector<const HostileSite*> sites_of(const char* function) {
        std::vector<const HostileSite*> sites;
        for (const HostileSite& site : kHostileSites)
            if (std::string("hostile_") + site.function == function &&
                !std::string(site.verdict).starts_with("no "))
                sites.push_back(&site);
        return sites;
    }
    using Results = std::map<std::pair<size_t, uint64_t>, uint64_t>;
    Results run_all() const {
        Results results;
        for (const uint64_t argument : kArguments)
            for (size_t i = 0; i < kCount; ++i)
                results[{i, argument}] = caller_(i, argument);
        return results;
    }

    uint64_t starts_[kCount] = {};
    Caller caller_;
};

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

TEST_F(Hostile, ProbesCountExactlyAndChangeNothing) {
    // Springboards take their bytes from the neighbourhood: only distant functions at once.
    constexpr size_t kApart = 4;
    const Results unprobed = run_all();
    EXPECT_EQ(run_all(), unprobed) << "the functions are not functions";
    size_t tested = 0, jumps = 0;
    for (const djprobe_mode mode : kBothModes)
        for (size_t group = 0; group < kApart; ++group)
            for (size_t nth = 0;; ++nth) {
                std::map<const HostileSite*, Probe> probes;
                for (size_t i = group; i < kCount; i += kApart) {
                    const auto sites = sites_of(kFunctions[i]);
                    if (nth >= sites.size()) continue;
                    probes[sites[nth]] =
                        device_.must_attach(at_address(starts_[i] + sites[nth]->offset, mode));
                }
                if (probes.empty()) break;
                // A wrong jump is not to be run through.
                std::erase_if(probes, [&](const auto& probe) {
                    return !has_mechanism(*probe.first, probe.second.settle(), mode);
                });
                for (const auto& [site, probe] : probes)
                    jumps += probe.query().mechanism == DJPROBE_MECHANISM_JUMP;
                const Results results = run_all();
                for (const auto& [key, value] : unprobed)
                    EXPECT_EQ(results.at(key), value)
                        << kFunctions[key.first] << "(" << key.second << ") with probe " << nth;
                for (const auto& [site, probe] : probes) {
                    const djprobe_query query = probe.query();
                    EXPECT_EQ(query.hits, site->hits)
                        << site->function << "+" << site->offset << " mode " << mode;
                    EXPECT_EQ(missed(query), 0u);
                    ++tested;
                }
            }
    EXPECT_EQ(run_all(), unprobed) << "afterwards";
    std::printf("%zu probes, %zu of them jumps\n", tested, jumps);
}

}  // namespace
}  // namespace djprobe::vm
