// SPDX-License-Identifier: GPL-2.0
// The kernel's part of a kstorm. What its kprobes decide is compared with what the text said
// before.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <list>

#include "../probes/harness/kprobe_event.h"
#include "kstorm.h"

namespace djprobe::vm {
namespace {

constexpr size_t kMostEvents = 8;
constexpr const char* kOptimization = "/proc/sys/debug/kprobes-optimization";

class Theirs {
  public:
    Theirs(const KstormTown& town, KstormTotals& totals, uint64_t seed)
        : town_(town), totals_(totals), dice_(seed) {}

    void act() {
        if (meeting_ != totals_.meeting) arrive();
        const uint64_t what = dice_() % 100;
        if (what < 40 && events_.size() < kMostEvents) {
            add();
        } else if (what < 65) {
            enable();
        } else if (what < 85) {
            remove();
        } else if (what < 87) {
            switch_optimization();
        } else {
            // The optimizer comes by meanwhile.
            usleep(static_cast<useconds_t>(dice_() % 100'000));
        }
    }

  private:
    /// Half of the time with empty hands, and after ours.
    void arrive() {
        meeting_ = totals_.meeting;
        if (dice_() % 2) return;
        while (!events_.empty())
            remove();
        usleep(static_cast<useconds_t>(dice_() % 300'000));
    }
    /// Any byte, an instruction that must not become a jump, or any instruction.
    uint64_t any_place(const FunctionText& text) {
        const uint64_t byte = text.start + dice_() % (text.end - text.start);
        const uint64_t what = dice_() % 3;
        if (what == 0) return byte;
        const auto risky = town_.never_jump.lower_bound(byte);
        if (what == 1 && risky != town_.never_jump.end() && *risky < text.end) return *risky;
        return text.insns[dice_() % text.insns.size()].address;
    }
    /// Now and then where there are some already.
    std::vector<uint64_t> choose() {
        if (!events_.empty() && dice_() % 6 == 0) return any_event().addresses();
        const FunctionText& text = town_.any(dice_, totals_).text;
        std::vector<uint64_t> places;
        for (uint64_t most = 1 + dice_() % 8; places.size() < most;)
            places.push_back(any_place(text));
        return places;
    }
    void add() {
        const std::vector<uint64_t> places = choose();
        KprobeEvent event("kstorm" + std::to_string(number_++));
        for (const uint64_t place : places) {
            announce("theirs: %s at %s", event.name().c_str(), describe(place).c_str());
            const int error = event.add(place);
            ++(!error           ? totals_.kprobes
               : error == EBUSY ? totals_.kprobes_busy
                                : totals_.kprobes_refused);
            if (!error && !is_instruction(place))
                misled("accepts a kprobe within an instruction: ", place);
            // Those behind it are enabled from the first on.
            if (!error && dice_() % 8 == 0) enable(event, true);
        }
        if (dice_() % 2) enable(event, true);
        events_.push_back(std::move(event));
    }
    void enable() {
        if (!events_.empty()) enable(any_event(), dice_() % 3 != 0);
    }
    void enable(KprobeEvent& event, bool on) {
        announce("theirs: %s %s", on ? "enable" : "disable", event.name().c_str());
        totals_.enabled += event.enable(on) == 0;
        if (on) look_at_jumps();
    }
    void remove() {
        if (events_.empty()) return;
        const auto which =
            std::next(events_.begin(), static_cast<std::ptrdiff_t>(dice_() % events_.size()));
        announce("theirs: remove %s", which->name().c_str());
        events_.erase(which);
        ++totals_.removed;
    }
    void switch_optimization() {
        for (const char* state : {"0", "1"}) {
            announce("theirs: optimization %s", state);
            std::ofstream(kOptimization) << state;
            usleep(static_cast<useconds_t>(dice_() % 100'000));
        }
    }
    void look_at_jumps() {
        const std::set<uint64_t> optimized = optimized_kprobes();
        totals_.optimized += optimized.size();
        for (const uint64_t place : optimized)
            if (town_.never_jump.contains(place))
                misled("writes a jump, into which a branch leads: ", place);
    }

    KprobeEvent& any_event() {
        return *std::next(events_.begin(), static_cast<std::ptrdiff_t>(dice_() % events_.size()));
    }
    bool is_instruction(uint64_t place) const {
        return std::ranges::any_of(town_.houses,
                                   [&](const KstormHouse& house) { return house.text.at(place); });
    }
    std::string describe(uint64_t place) const {
        for (const auto& [text, sites, hiding] : town_.houses)
            if (place >= text.start && place < text.end)
                return text.name + "+" + std::to_string(place - text.start);
        return "?";
    }
    /// The machine may not live much longer: at once.
    void misled(const char* what, uint64_t place) {
        announce("MISLED: the kernel %s%s", what, describe(place).c_str());
        std::fprintf(stderr, "kstorm: the kernel %s%s\n", what, describe(place).c_str());
        ++totals_.misled;
        totals_.stop = true;
    }

    const KstormTown& town_;
    KstormTotals& totals_;
    std::mt19937_64 dice_;
    std::list<KprobeEvent> events_;
    size_t meeting_ = 0;
    uint64_t number_ = 0;
};

}  // namespace

void their_part(const KstormTown& town, KstormTotals& totals, uint64_t seed) {
    Theirs theirs(town, totals, seed);
    while (!totals.stop)
        theirs.act();
}

}  // namespace djprobe::vm
