// SPDX-License-Identifier: GPL-2.0
#include "session/loss_watch.h"

#include <fmt/core.h>

#include "base/plural.h"
#include "base/say.h"

namespace djprobe::loader {

std::string loss_line(const Losses& before, const Losses& now) {
    const std::uint64_t lost = now.lost - before.lost, missed = now.missed - before.missed;
    const std::string events = plural(lost, "event") + " lost";
    const std::string hits = plural(missed, "hit") + " missed";
    if (lost != 0 && missed != 0)
        return fmt::format("{} and {} in a second ({} and {} in all)", events, hits, now.lost,
                           now.missed);
    if (lost != 0) return fmt::format("{} in a second ({} in all)", events, now.lost);
    return missed == 0 ? "" : fmt::format("{} in a second ({} in all)", hits, now.missed);
}

Watched LossWatch::watched() {
    return {ticker_.fd(), [this] {
                if (ticker_.take()) look();
            }};
}

void LossWatch::look() {
    const Losses now = count_();
    const std::string line = loss_line(before_, now);
    before_ = now;
    if (!line.empty()) say("probeload: {}\n", line);
}

}  // namespace djprobe::loader
