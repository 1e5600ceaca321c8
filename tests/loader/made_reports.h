// SPDX-License-Identifier: GPL-2.0
// Reports of probes that no kernel has.
#pragma once

#include <cstring>
#include <vector>

#include "session/report.h"

namespace djprobe::loader {

inline ProbeState probe() {
    ProbeState query = {};
    query.state = DJPROBE_STATE_OPTIMIZED;
    query.mechanism = DJPROBE_MECHANISM_JUMP;
    query.address = 0xffffffff81001009;
    query.offset = 9;
    query.hits = 100;
    query.displaced_len = 5;
    std::memcpy(query.displaced, "\x55\x48\x89\xe5\x90", 5);
    query.symbol = "vfs_read";
    return query;
}

inline ProbeState int3_probe() {
    ProbeState query = probe();
    query.state = DJPROBE_STATE_ARMED;
    query.mechanism = DJPROBE_MECHANISM_INT3;
    query.reason = DJPROBE_REASON_BRANCH_INTO_REGION;
    query.detail[0] = 0xffffffff81002012;
    query.detail[1] = 0xffffffff8100100b;
    return query;
}

inline ProbeState disabled_probe() {
    ProbeState query = probe();
    query.state = DJPROBE_STATE_DISARMED;
    query.mechanism = DJPROBE_MECHANISM_NONE;
    query.reason = DJPROBE_REASON_DISABLED;
    return query;
}

inline AttachmentReport report(Covers covers, const char* name, std::vector<ProbeState> probes) {
    AttachmentReport report;
    report.program = "on_hit";
    report.covers = covers;
    report.name = name;
    report.probes = std::move(probes);
    report.total.count = static_cast<__u32>(report.probes.size());
    for (const ProbeState& probe : report.probes)
        report.total.hits += probe.hits;
    return report;
}

inline AttachmentReport at_site(const ProbeState& probe) {
    return report(Covers::kSite, "", {probe});
}

inline Symbolizer symbolizer() {
    return Symbolizer(
        Kallsyms::parse("ffffffff81001000 T vfs_read\nffffffff81002000 t vfs_read.cold\n"));
}

}  // namespace djprobe::loader
