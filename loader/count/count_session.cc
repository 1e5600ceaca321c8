// SPDX-License-Identifier: GPL-2.0
#include "count/count_session.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/output.h"
#include "base/say.h"
#include "count/count_table.h"
#include "count/counter_map.h"
#include "kernel/glob.h"
#include "session/attach_session.h"
#include "session/attachment.h"
#include "session/command.h"
#include "session/summary.h"

namespace djprobe::loader {
namespace {

using Clock = std::chrono::steady_clock;

// Home, and nothing below: the table is drawn over the last one.
constexpr const char* kRedraw = "\x1b[H\x1b[J";

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A function that is refused has one, too.
std::size_t counters_for(const SiteSpec& site, Symbolizer& symbolizer) {
    return site.is_glob() ? functions_like(symbolizer.kallsyms(), site.symbol).size() : 1;
}

std::size_t counters_for(const std::vector<SiteSpec>& sites, Symbolizer& symbolizer) {
    std::size_t counters = 0;
    for (const SiteSpec& site : sites)
        counters += counters_for(site, symbolizer);
    return counters;
}

// The counters of one attachment follow those of the one before.
std::vector<Attachment> attach_all(const CountOptions& options, int map, const Device& device,
                                   Symbolizer& symbolizer, const StopSignals& stop) {
    std::vector<Attachment> attachments;
    std::size_t used = 0;
    for (const SiteSpec& site : options.sites) {
        attachments.push_back(
            Attachment::attach_counters(site, {map, used}, options.mode, device, symbolizer, stop));
        used += counters_for(site, symbolizer);
    }
    return attachments;
}

std::vector<AttachmentReport> reports_of(const std::vector<Attachment>& attachments) {
    std::vector<AttachmentReport> reports;
    reports.reserve(attachments.size());
    for (const Attachment& attachment : attachments)
        reports.push_back(attachment.report());
    return reports;
}

// Shows the counts as often as is wished while they count.
class Display {
  public:
    Display(const CountOptions& options, const std::vector<Attachment>& attachments, Output& output,
            Symbolizer& symbolizer)
        : options_(options),
          attachments_(attachments),
          output_(output),
          symbolizer_(symbolizer),
          redraws_(!options.json && isatty(output.fd()) != 0),
          interval_(options.interval.value_or(redraws_ ? 1 : 0)) {}

    // Milliseconds until the next look, or -1.
    [[nodiscard]] int wait() const {
        if (interval_ <= 0) return -1;
        const double left = interval_ - seconds_since(last_);
        return static_cast<int>(std::ceil(std::clamp(left, 0.0, 1e6) * 1e3));
    }
    void show_if_due() {
        if (interval_ <= 0 || seconds_since(last_) < interval_) return;
        const double seconds = seconds_since(last_);
        last_ = Clock::now();
        counts_.look(reports_of(attachments_));
        const std::vector<Counted> top = counts_.top(options_.top, symbolizer_);
        if (options_.json)
            output_.print(count_json(top, counts_.total(), seconds_since(begin_)));
        else
            print(count_table(top, seconds));
    }
    // The last time, all in all.
    void show_end(const std::vector<AttachmentReport>& reports) {
        counts_.look(reports);
        if (!options_.json) print(count_table(counts_.top(options_.top, symbolizer_), 0));
    }

  private:
    void print(const std::string& table) { output_.print((redraws_ ? kRedraw : "") + table); }

    const CountOptions& options_;
    const std::vector<Attachment>& attachments_;
    Counts counts_;
    Output& output_;
    Symbolizer& symbolizer_;
    bool redraws_;
    double interval_;  // 0: never
    Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

// Until a stop is requested, the command ends, or the reader of stdout is gone. True: the command
// has ended.
bool count_until_end(Display& display, Output& output, const StopSignals& stop, int command) {
    pollfd polled[] = {{stop.fd(), POLLIN, 0}, {command, POLLIN, 0}, {output.fd(), 0, 0}};
    while (!stop.requested() && !output.closed()) {
        if (poll(polled, std::size(polled), display.wait()) < 0) continue;
        if ((polled[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) output.set_closed();
        if ((polled[1].revents & POLLIN) != 0) return true;
        if (!stop.requested()) display.show_if_due();
    }
    return false;
}

Summary sum_up(const CountOptions& options, const std::vector<Attachment>& attachments,
               Symbolizer& symbolizer) {
    Summary summary;
    summary.attachments = reports_of(attachments);
    for (const Attachment& attachment : attachments)
        attachment.disable();
    run_out();
    for (std::size_t i = 0; i < attachments.size(); ++i) {
        attachments[i].complete(summary.attachments[i], symbolizer);
        // The table has them.
        summary.attachments[i].top = options.json ? options.top : 0;
    }
    return summary;
}

}  // namespace

int run_count(const CountOptions& options) {
    StopSignals stop;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    const Device device = Device::open();
    note_untested_kernel();
    const UniqueFd map = make_counter_map(counters_for(options.sites, symbolizer));
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const std::vector<Attachment> attachments =
        attach_all(options, map.get(), device, symbolizer, stop);
    for (const Attachment& attachment : attachments) {
        attachment.wait(stop);
        stop.check();
        say("{}\n", attached_line(attachment.report(), symbolizer));
    }
    for (const std::string& line : what_is_off(device.set_switches(0, 0)))
        say("probeload: {}\n", line);

    if (options.command) child.emplace(start_command(*options.command));
    if (options.seconds) stop.request_after(*options.seconds);
    Display display(options, attachments, output, symbolizer);
    const bool ended = count_until_end(display, output, stop, child ? child->fd() : -1);
    std::optional<int> status;
    if (child) status = ended ? child->wait() : child->end();
    Summary summary = sum_up(options, attachments, symbolizer);
    display.show_end(summary.attachments);
    summary.command_status = status;
    print_summary(summary, options.json ? Format::kJson : Format::kText, output, symbolizer);
    return command_exit_status(status);
}

}  // namespace djprobe::loader
