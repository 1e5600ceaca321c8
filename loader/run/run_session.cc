// SPDX-License-Identifier: GPL-2.0
#include "run/run_session.h"

#include <optional>

#include "base/error.h"
#include "base/say.h"
#include "kernel/device.h"
#include "run/filter.h"
#include "run/ledger.h"
#include "run/passed_on.h"
#include "run/service.h"
#include "run/start.h"
#include "run/summary.h"
#include "run/takeover.h"
#include "run/tool.h"

namespace djprobe::loader {
namespace {

// Until the tool has ended, and no process that it has left behind is under the filter; or, for the
// sake of those that are no end of theirs, until a signal comes then. The tool's status.
int serve(Service& service) {
    while (!service.done()) {
        const bool ended = service.status().has_value();
        if (service.step() && ended) break;
    }
    return *service.status();
}

void tell(const RunSums& sums, bool json) {
    say("{}", json ? run_json(sums).dump() + "\n" : run_text(sums));
}

int run_alone(const RunOptions& options) {
    PassedOn signals;
    Tool tool = start_tool(options, signals, Filter::kNone);
    signals.follow(tool);
    Service service(tool, signals, nullptr, nullptr);
    return end_as(serve(service));
}

std::optional<Device> open_device(const RunOptions& options) {
    try {
        require_files_of_kernel();
        return open_working_device();
    } catch (const Error& error) {
        if (options.strict) throw;
        say("probeload: {}; the kernel places all probes\n", error.what());
        return std::nullopt;
    }
}

}  // namespace

int run_tool(const RunOptions& options) {
    const std::optional<Device> device = open_device(options);
    if (!device) return run_alone(options);
    PassedOn signals;
    Ledger ledger;
    Takeover takeover(*device, options, ledger);
    Tool tool = start_tool(options, signals, options.strict ? Filter::kRequired : Filter::kWanted);
    signals.follow(tool);
    Service service(tool, signals, &ledger, &takeover);
    raise_descriptor_limit();
    if (tool.listener())
        takeover.start_ahead();
    else
        say("probeload: {}: this run places no probe\n", why_no_filter(tool.filter_error()));
    const int status = serve(service);
    tell(ledger.sums(), options.json);
    return end_as(status);
}

}  // namespace djprobe::loader
