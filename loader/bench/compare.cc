// SPDX-License-Identifier: GPL-2.0
#include "bench/compare.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/stop_signals.h"
#include "bench/statistics.h"

namespace djprobe::loader {
namespace {

constexpr unsigned kBlocks = 64;
constexpr unsigned kPlannedCalls = 64;
constexpr int kAttempts = 3;

BlockPlan plan_blocks(std::uint64_t calls) {
    const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(calls, kBlocks));
    return {blocks, calls / blocks};
}

std::vector<BenchCase> list_cases(const BenchOptions& options, const BenchPlace& place) {
    std::vector<BenchCase> cases;
    for (const BenchSite& site : place.sites) {
        for (const MechanismInfo* const mechanism : options.mechanisms) {
            if (!site.at_entry && !mechanism->anywhere) continue;
            for (const Body body : options.bodies)
                if (mechanism->does(body)) cases.push_back({mechanism, body, site, "", "", {}, {}});
        }
    }
    return cases;
}

void check_hits(std::optional<std::uint64_t> hits, std::uint64_t calls) {
    if (!hits || *hits == calls) return;
    fail(ExitCode::kFailure, "{} hits by {} calls{}", *hits, calls,
         *hits > calls ? ": another task calls it, too" : "");
}

class Comparison {
  public:
    Comparison(Rig& rig, const Workload& workload, BenchReport& report)
        : rig_(rig), workload_(workload), report_(report) {}

    /// Whether it can be had, and whether each call is one hit.
    void attempt(BenchCase& one);
    void measure(BenchCase& one);

  private:
    const Workload& workload_of(const BenchCase& one) const;
    bool measure_once(BenchCase& one);

    Rig& rig_;
    const Workload& workload_;
    BenchReport& report_;
};

// The tracepoint has a workload of its own, and with it its own baseline.
const Workload& Comparison::workload_of(const BenchCase& one) const {
    if (one.mechanism->mechanism != BenchMechanism::kRawTracepoint) return workload_;
    return *std::ranges::find_if(workloads(), [](const Workload& workload) {
        return std::string_view(workload.function) == kTracepointFunction;
    });
}

void Comparison::attempt(BenchCase& one) {
    try {
        Installed installed = rig_.install(*one.mechanism, one.site, one.body);
        one.seen = installed.seen();
        const auto calls = [&] {
            for (unsigned i = 0; i < kPlannedCalls; ++i)
                workload_of(one).call();
        };
        std::optional<std::uint64_t> hits;
        for (int attempt = 0; attempt < kAttempts && hits != kPlannedCalls; ++attempt) {
            hits = installed.count_runs(calls);
            if (hits) continue;
            installed.forget_hits();
            calls();
            hits = installed.take_hits();
            if (!hits) break;
        }
        check_hits(hits, kPlannedCalls);
        installed.remove();
    } catch (const Error& error) {
        if (error.code() == ExitCode::kNoPermission) throw;
        one.unavailable = error.what();
    }
}

void Comparison::measure(BenchCase& one) {
    try {
        for (int attempt = 0; attempt < kAttempts; ++attempt) {
            if (measure_once(one)) return;
        }
        one.unavailable = fmt::format(
            "the calls and the hits differed {} times: another task calls it, too; measure on a "
            "quiet machine",
            kAttempts);
    } catch (const Error& error) {
        // A mechanism may fail after a good round; the results of the others stay.
        if (error.code() == ExitCode::kNoPermission) throw;
        one.unavailable = fmt::format("in a later round: {}", error.what());
    }
    // A median of fewer rounds, or of what is not known to be hits, would look like any other.
    one.per_hit.clear();
}

bool Comparison::measure_once(BenchCase& one) {
    const Workload& workload = workload_of(one);
    const BlockPlan plan = report_.blocks;
    const double baseline = median(time_blocks(workload, plan, [] {}));

    Installed installed = rig_.install(*one.mechanism, one.site, one.body);
    std::vector<double> blocks;
    std::optional<std::uint64_t> hits;
    try {
        for (std::uint64_t i = 0; i < plan.calls; ++i)
            workload.call();  // caches, branch predictors, first use of the ring buffer's pages
        installed.forget_hits();
        std::uint64_t undrained = 0;
        blocks = time_blocks(workload, plan, [&] {
            // Seldom: the first record in an empty ring buffer costs a wakeup.
            undrained += plan.calls;
            if (undrained + plan.calls < installed.programs().room()) return;
            installed.programs().drain();
            undrained = 0;
        });
        hits = installed.take_hits();
        installed.expect_unchanged();
    } catch (const Error&) {
        // The next mechanism needs the original text.
        installed.remove();
        throw;
    }
    installed.remove();
    if (rig_.stop().requested()) return true;
    if (hits && *hits != plan.total()) return false;

    const Unit& unit = report_.unit;
    one.baseline.push_back(unit.from_ns(baseline));
    for (const double block : blocks)
        one.per_hit.push_back(unit.from_ns(block - baseline));
    return true;
}

std::string kernel_release() {
    utsname names = {};
    uname(&names);
    return names.release;
}

void stop_if_asked(const StopSignals& stop) {
    if (stop.requested()) fail(ExitCode::kFailure, "interrupted; the text is as before");
}

}  // namespace

BenchReport run_bench(const BenchOptions& options) {
    const StopSignals stop;
    const Pin pin;
    Rig rig(stop);
    BenchReport report;
    report.kernel = kernel_release();
    report.cpu = pin.cpu();
    report.unit = detect_unit(time_loops());
    const BenchPlace place = choose_place(rig, options.site);
    stop_if_asked(stop);
    report.notices = rig.notices();
    if (place.sites.size() == 1)
        report.notices.push_back(fmt::format(
            "{}: no instruction in its middle that each call passes once and that can have a jump",
            place.sites.front().function));
    report.workload = place.workload->name;
    report.function = place.sites.front().function;
    report.rounds = options.rounds;
    report.blocks = plan_blocks(options.calls);
    const std::uint64_t made = report.blocks.total();
    if (made != options.calls)
        report.notices.push_back(
            fmt::format("--calls {}: {} are made, as many in each of {} blocks", options.calls,
                        made, report.blocks.blocks));
    report.cases = list_cases(options, place);

    Comparison comparison(rig, *place.workload, report);
    const BenchCase* before = nullptr;
    for (BenchCase& one : report.cases) {
        stop_if_asked(stop);
        // A mechanism that the kernel does not offer for one program, it does not offer for the
        // next.
        if (before && before->mechanism == one.mechanism && before->site.name == one.site.name)
            one.unavailable = before->unavailable;
        if (one.unavailable.empty()) comparison.attempt(one);
        before = &one;
    }
    for (unsigned round = 0; round < options.rounds; ++round) {
        for (BenchCase& one : report.cases) {
            stop_if_asked(stop);
            if (one.unavailable.empty()) comparison.measure(one);
        }
        // The order differs from round to round.
        std::ranges::reverse(report.cases);
    }
    if (options.rounds % 2 != 0) std::ranges::reverse(report.cases);
    return report;
}

}  // namespace djprobe::loader
