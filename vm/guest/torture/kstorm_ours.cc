// SPDX-License-Identifier: GPL-2.0
// Our part of a kstorm.
#include <unistd.h>

#include <string>

#include "kstorm.h"

namespace djprobe::vm {
namespace {

constexpr size_t kMostProbes = 10;

class Ours {
  public:
    Ours(const KstormTown& town, KstormTotals& totals, const Device& device, int program,
         uint64_t seed)
        : town_(town), totals_(totals), device_(device), program_(program), dice_(seed) {}

    void act() {
        if (meeting_ != totals_.meeting) arrive();
        const uint64_t what = dice_() % 100;
        if (what < 45 && probes_.size() < kMostProbes) {
            attach();
        } else if (what < 75) {
            detach();
        } else if (what < 85) {
            toggle();
        } else {
            usleep(static_cast<useconds_t>(dice_() % 100'000));
        }
    }

  private:
    /// Half of the time with empty hands.
    void arrive() {
        meeting_ = totals_.meeting;
        if (dice_() % 2)
            while (!probes_.empty())
                detach();
        attach();
    }
    void attach() {
        const KstormHouse& house = town_.any(dice_, totals_);
        const djprobe_mode mode = dice_() % 2 ? DJPROBE_MODE_AUTO : DJPROBE_MODE_INT3;
        std::vector<djprobe_site> sites;
        std::atomic<uint64_t>* count = &totals_.attached;
        const uint64_t kind = dice_() % 8;
        if (kind == 0) {
            sites = {house.sites[dice_() % house.sites.size()]};
        } else if (kind < 3 && !house.hiding.empty()) {
            for (const djprobe_site& site : house.hiding)
                if (sites.empty() || dice_() % 3 == 0) sites.push_back(site);
        } else if (kind < 6) {
            sites = house.sites;
            count = &totals_.all_sites;
        } else {
            const bool shadow = kind == 7;
            sites.resize(1);
            sites[0].address = house.text.start;
            sites[0].flags = DJPROBE_ATTACH_RETURN;
            if (shadow) sites[0].flags |= DJPROBE_ATTACH_SHADOW;
            count = shadow ? &totals_.shadows : &totals_.returns;
        }
        announce("ours: attach %zu sites of %s from +%llu mode %d flags %u", sites.size(),
                 house.text.name.c_str(), sites[0].address - house.text.start, mode,
                 sites[0].flags);
        ManyAnswer answer = device_.attach_many(sites, program_, mode);
        ++(answer.error ? totals_.refused : *count);
        if (!answer.error) probes_.push_back(std::move(answer.probes));
    }
    void detach() {
        if (probes_.empty()) return;
        const size_t which = dice_() % probes_.size();
        announce("ours: detach %zu of %zu", which, probes_.size());
        probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(which));
        ++totals_.detached;
    }
    void toggle() {
        if (probes_.empty()) return;
        const size_t which = dice_() % probes_.size();
        const bool on = dice_() % 2;
        announce("ours: %s %zu of %zu", on ? "enable" : "disable", which, probes_.size());
        totals_.toggled += probes_[which].enable(on) == 0;
    }

    const KstormTown& town_;
    KstormTotals& totals_;
    const Device& device_;
    int program_;
    std::mt19937_64 dice_;
    std::vector<Probe> probes_;
    size_t meeting_ = 0;
};

}  // namespace

void our_part(const KstormTown& town, KstormTotals& totals, const Device& device, int program,
              uint64_t seed) {
    Ours ours(town, totals, device, program, seed);
    while (!totals.stop)
        ours.act();
}

}  // namespace djprobe::vm
