// SPDX-License-Identifier: GPL-2.0
// What has become of the tool's probes: those that are in, and the sums of all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "djprobe.h"
#include "kernel/device.h"
#include "run/kernel_probe.h"
#include "run/overlap.h"

namespace djprobe::loader {

/// Probes of one request, as long as the tool has their event fd open.
struct Placement {
    Probe probe{UniqueFd()};
    bool is_link = false;    ///< of BPF_LINK_CREATE, not of a perf event
    bool by_kernel = false;  ///< the kernel's probes have taken its place
    EventRequest event{};    ///< what the kernel would have been asked for: this,
    MultiRequest multi;      ///< or, if it has targets, this
    std::uint64_t cookie = 0;
    UniqueFd program;  ///< what its id alone would not give to a user without CAP_SYS_ADMIN
    std::uint32_t program_id = 0;

    /// How many functions or places it is about.
    [[nodiscard]] std::size_t probes() const {
        return std::max<std::size_t>(multi.targets.size(), 1);
    }
};

/// How many probes, and what they have seen.
struct RunSums {
    std::size_t jumps = 0, int3s = 0, unarmed = 0;  ///< by mechanism
    std::size_t exact = 0, shadow = 0;              ///< of these at returns
    std::uint64_t hits = 0;
    std::uint64_t missed[DJPROBE_MISS_MAX] = {};
    std::map<std::string, std::size_t> int3_reasons;
    std::map<std::string, std::size_t> by_kernel;  ///< by the reason

    void add(const ProbeState& probe);
    /// Only what it has seen: it is in no place any more.
    void add_counters(const ProbeState& probe);
};

/// The probes as they are now, and those that are out of the text as they were in it. The module
/// takes the probes of a closed event out one after the other: a look may come in between.
std::vector<ProbeState> last_in_text(const std::vector<ProbeState>& seen,
                                     std::vector<ProbeState> now);

class Ledger {
  public:
    Ledger();

    /// Keeps a placement until its event fd is closed. Its number.
    std::uint64_t add(Placement placement);
    /// None: it has ended, or never was.
    Placement* find(std::uint64_t number);
    void count_kernel(const std::string& reason, std::size_t probes = 1);
    /// The placements by djprobe that have to leave the text for a probe of the kernel's: those
    /// whose bytes may be those of an instruction there, and those that share bytes with them.
    /// `address`: of the site; 0 where the kernel tells none to this user.
    [[nodiscard]] std::vector<std::uint64_t> around(const SiteSpec& site,
                                                    std::uint64_t address) const;
    /// The same where a placement is to become the kernel's. It is the first of them.
    [[nodiscard]] std::vector<std::uint64_t> around_placement(std::uint64_t number) const;

    /// Readable when a placement has ended.
    [[nodiscard]] int fd() const noexcept { return ended_.get(); }
    void forget_ended();
    /// Looks how the probes stand, while some may still become jumps: once they are closed that
    /// cannot be seen. Whether to look again.
    bool look();
    /// Of all probes there were. The last look.
    RunSums sums();

  private:
    struct Entry {
        Placement placement;
        std::vector<ProbeState> seen;  // at the last look
        bool settled = false;
    };
    /// What the probes by djprobe may change.
    [[nodiscard]] std::vector<Span> spans() const;
    static void add_spans(std::vector<Span>& spans, const Entry& entry, std::uint64_t number);
    static void look_at(Entry& entry);
    static void add_to(RunSums& sums, const Entry& entry);

    UniqueFd ended_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Entry> entries_;
    RunSums past_;
};

}  // namespace djprobe::loader
