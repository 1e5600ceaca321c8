// SPDX-License-Identifier: GPL-2.0
#include "session/results.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace djprobe::loader {
namespace {

// None where the kernel does not let us count those of its own probes.
std::optional<std::uint64_t> total_hits(const Summary& summary) {
    std::uint64_t hits = 0;
    for (const AttachmentReport& report : summary.attachments)
        hits += report.total.hits;
    for (const KernelReport& report : summary.kernel) {
        if (!report.hits) return std::nullopt;
        hits += *report.hits;
    }
    return hits;
}

std::uint64_t missed(const djprobe_total& total) {
    return std::accumulate(std::begin(total.missed), std::end(total.missed), std::uint64_t{0});
}

std::optional<std::uint64_t> known_loss(const Object& object, const EventReader& events) {
    if (!events.has_ring_buffer()) return events.lost_by_perf();
    if (const auto counted = counted_by_program(object.handle()))
        return *counted + events.lost_by_perf();
    return std::nullopt;
}

Loss find_loss(const Object& object, const EventReader& events, std::optional<std::uint64_t> hits) {
    if (const auto known = known_loss(object, events)) return Loss{*known, 0};
    // What has not run has lost nothing.
    if (hits == 0) return Loss{events.lost_by_perf(), 0};
    const std::uint64_t known_hits = hits.value_or(0);
    return Loss{std::nullopt, known_hits > events.received() ? known_hits - events.received() : 0};
}

}  // namespace

void add_results(const Object& object, const EventReader& events, const Running& running,
                 Summary& summary) {
    for (const OtherProgram& other : running.others())
        summary.others.push_back(other.program);
    summary.kernel = running.kernel().reports();
    // The kernel counts the runs of a program, here as there.
    for (KernelReport& report : summary.kernel)
        if (std::ranges::find(summary.attachments, report.program, &AttachmentReport::program) !=
            summary.attachments.end())
            report.hits.reset();
    summary.received = events.received();
    if (events.has_sources()) summary.loss = find_loss(object, events, total_hits(summary));
}

void add_maps(const Object& object, const EventReader& events, bool at_end, FrameNames& names,
              Summary& summary) {
    summary.variables = dump_variables(object.handle());
    const MapValues values = events.has_sources() ? MapValues::kCounters : MapValues::kAny;
    summary.maps = dump_maps(object.handle(), values, at_end, names);
}

Losses count_losses(const Object& object, const EventReader& events, const Running& running) {
    Losses losses;
    if (events.has_sources()) losses.lost = known_loss(object, events).value_or(0);
    for (const Attachment& attachment : running.attachments())
        losses.missed += missed(attachment.total());
    for (const KernelReport& report : running.kernel().reports())
        losses.missed += report.missed;
    return losses;
}

bool is_complete(const Summary& summary) {
    const bool lost = summary.loss && (summary.loss->exact.value_or(summary.loss->at_most) != 0);
    const bool kernel_missed = std::ranges::any_of(
        summary.kernel, [](const KernelReport& report) { return report.missed != 0; });
    return !lost && !kernel_missed &&
           std::ranges::all_of(summary.attachments, [](const AttachmentReport& report) {
               return missed(report.total) == 0;
           });
}

}  // namespace djprobe::loader
