// SPDX-License-Identifier: GPL-2.0
#include "session/results.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace djprobe::loader {
namespace {

std::uint64_t total_hits(const std::vector<AttachmentReport>& reports) {
    return std::accumulate(reports.begin(), reports.end(), std::uint64_t{0},
                           [](std::uint64_t hits, const AttachmentReport& report) {
                               return hits + report.total.hits;
                           });
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

Loss find_loss(const Object& object, const EventReader& events, std::uint64_t hits) {
    if (const auto known = known_loss(object, events)) return Loss{*known, 0};
    // What has not run has lost nothing.
    if (hits == 0) return Loss{events.lost_by_perf(), 0};
    return Loss{std::nullopt, hits > events.received() ? hits - events.received() : 0};
}

}  // namespace

void add_results(const Object& object, const EventReader& events, const Running& running,
                 Summary& summary) {
    for (const OtherProgram& other : running.others())
        summary.others.push_back(other.program);
    summary.received = events.received();
    if (events.has_sources())
        summary.loss = find_loss(object, events, total_hits(summary.attachments));
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
    return losses;
}

bool is_complete(const Summary& summary) {
    const bool lost = summary.loss && (summary.loss->exact.value_or(summary.loss->at_most) != 0);
    return !lost && std::ranges::all_of(summary.attachments, [](const AttachmentReport& report) {
        return missed(report.total) == 0;
    });
}

}  // namespace djprobe::loader
