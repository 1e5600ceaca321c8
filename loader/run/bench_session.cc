// SPDX-License-Identifier: GPL-2.0
#include "run/bench_session.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "base/output.h"
#include "kernel/device.h"
#include "run/bench_report.h"
#include "run/bench_workload.h"
#include "run/ledger.h"
#include "run/passed_on.h"
#include "run/service.h"
#include "run/start.h"
#include "run/takeover.h"

namespace djprobe::loader {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRuns = 5;
// Tools compile between the calls by which they look what the kernel can do and those by which they
// place their probes.
constexpr std::chrono::seconds kQuiet{3};
constexpr std::chrono::seconds kPatience{120};
constexpr std::chrono::seconds kGrace{5};

[[noreturn]] void fail_interrupted() {
    fail(ExitCode::kFailure, "interrupted; nothing stays attached");
}

/// A tool that runs as long as the workload is timed.
class WatchedTool {
  public:
    WatchedTool(const Device& device, const RunOptions& options, const PassedOn& signals)
        : takeover_(device, options, ledger_),
          tool_(start_tool(options, signals, Filter::kRequired, Stdout::kNone)),
          service_(tool_, signals, &ledger_, &takeover_) {
        raise_descriptor_limit();
        takeover_.start_ahead();
    }
    ~WatchedTool() {
        // A tool may lose a signal that comes in the wrong moment.
        for (const int number : {SIGINT, SIGINT, SIGTERM, SIGKILL})
            if (!service_.status()) end(number);
    }
    WatchedTool(const WatchedTool&) = delete;
    WatchedTool& operator=(const WatchedTool&) = delete;

    /// Until it has placed its probes, which takes at least so many calls. How many it took.
    std::size_t await_probes(std::size_t calls) {
        const auto start = Clock::now();
        auto since = start;
        std::size_t seen = 0;
        while (seen == 0 || seen < calls || !service_.settled() || Clock::now() - since < kQuiet) {
            step(100);
            if (Clock::now() - start > kPatience)
                fail(ExitCode::kFailure, "the tool has not placed its probes in {} s",
                     kPatience.count());
            if (service_.calls() == seen) continue;
            seen = service_.calls();
            since = Clock::now();
        }
        return seen;
    }

    void step(int limit_ms, int other = -1) {
        if (service_.step(limit_ms, other)) fail_interrupted();
        if (service_.status())
            fail(ExitCode::kCommandFailed,
                 "the tool has ended before the workload ({}): --bench wants one that runs until "
                 "Ctrl-C",
                 describe_wait_status(*service_.status()));
    }

    RunSums sums() { return ledger_.sums(); }

  private:
    void end(int number) {
        tool_.signal(number);
        const auto start = Clock::now();
        while (!service_.status() && (number == SIGKILL || Clock::now() - start < kGrace))
            service_.step(100);
    }

    Ledger ledger_;
    Takeover takeover_;
    Tool tool_;
    Service service_;
};

void check_workload(int status) {
    if (status == 0) return;
    fail(ExitCode::kCommandFailed, "the workload has ended with {}", describe_wait_status(status));
}

// `tool`: or none.
double time_workload(const std::string& command, WatchedTool* tool) {
    const double start = now_ns();
    WorkloadRun run(command);
    if (tool) {
        pollfd ended = {run.fd(), POLLIN, 0};
        while (poll(&ended, 1, 0) == 0)
            tool->step(-1, run.fd());
    }
    check_workload(run.wait());
    return now_ns() - start;
}

void time_runs(const std::string& command, WatchedTool* tool, std::vector<double>& times) {
    time_workload(command, tool);  // the first one fills caches
    for (int run = 0; run < kRuns; ++run)
        times.push_back(time_workload(command, tool));
}

std::size_t bench_ours(const Device& device, const RunOptions& options, const PassedOn& signals,
                       ToolBench& bench) {
    WatchedTool tool(device, options, signals);
    const std::size_t calls = tool.await_probes(0);
    time_workload(options.workload, &tool);
    const std::uint64_t before = tool.sums().hits;
    for (int run = 0; run < kRuns; ++run)
        bench.ours.push_back(time_workload(options.workload, &tool));
    bench.sums = tool.sums();
    bench.hits = static_cast<double>(bench.sums.hits - before) / kRuns;
    return calls;
}

void bench_kernel(const Device& device, RunOptions options, const PassedOn& signals,
                  std::size_t calls, ToolBench& bench) {
    options.to_kernel = true;
    WatchedTool tool(device, options, signals);
    tool.await_probes(calls);
    time_runs(options.workload, &tool, bench.kernel);
}

}  // namespace

int bench_tool(const RunOptions& options) {
    require_files_of_kernel();
    const Device device = open_working_device();
    ToolBench bench;
    bench.workload = workload_name(options.workload);
    bench.unit = detect_unit(time_loops());
    time_runs(options.workload, nullptr, bench.without);
    {
        const PassedOn signals;
        const std::size_t calls = bench_ours(device, options, signals, bench);
        bench_kernel(device, options, signals, calls, bench);
    }
    time_runs(options.workload, nullptr, bench.without);
    Output output(STDOUT_FILENO);
    output.print(options.json ? tool_bench_json(bench).dump() + "\n" : tool_bench_text(bench));
    return static_cast<int>(ExitCode::kOk);
}

}  // namespace djprobe::loader
