// SPDX-License-Identifier: GPL-2.0
#include "session/session_watch.h"

#include <bpf/bpf.h>
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/say.h"
#include "decode/quote.h"

namespace djprobe::loader {
namespace {

constexpr double kLookSeconds = 2;

std::uint64_t runs_of(int program_fd) {
    bpf_prog_info info = {};
    __u32 size = sizeof info;
    return bpf_obj_get_info_by_fd(program_fd, &info, &size) == 0 ? info.run_cnt : 0;
}

// A return that was selected and then missed was selected.
std::uint64_t returns_of(const djprobe_total& total) {
    return std::accumulate(std::begin(total.missed), std::end(total.missed), total.hits);
}

}  // namespace

std::string no_return_selected(const std::string& at_entry, const std::string& at_return,
                               std::uint64_t runs, std::uint64_t returns) {
    if (runs == 0 || returns != 0) return "";
    return fmt::format(
        "--session: '{}' ran at {}, and '{}' at no return: the former must return another "
        "value than 0 for each call whose return is wanted (or all those calls still run)",
        at_entry, runs == 1 ? "1 entry" : fmt::format("{} entries", runs), at_return);
}

SessionWatch::SessionWatch(bool on) {
    if (!on) return;
    statistics_ = UniqueFd(bpf_enable_stats(BPF_STATS_RUN_TIME));
    if (statistics_) ticker_ = Ticker(kLookSeconds);
}

void SessionWatch::add(const Program& entry, const Program& program, const Attachment& attachment) {
    sessions_.push_back({entry.fd(), entry.name, program.name, &attachment});
}

Watched SessionWatch::watched() {
    return {ticker_.fd(), [this] {
                if (ticker_.take()) look();
            }};
}

void SessionWatch::end() {
    if (statistics_) look();
    stop();
}

// One program may be at the entries of several functions.
void SessionWatch::look() {
    bool all_seen = true;
    for (auto session = sessions_.begin(); session != sessions_.end(); ++session) {
        const auto is_same = [&](const Session& other) {
            return other.entry_fd == session->entry_fd;
        };
        if (std::find_if(sessions_.begin(), session, is_same) != session) continue;
        std::uint64_t returns = 0;
        for (const Session& other : sessions_)
            if (is_same(other)) returns += returns_of(other.attachment->total());
        const std::string line = no_return_selected(session->at_entry, session->at_return,
                                                    runs_of(session->entry_fd), returns);
        all_seen = all_seen && returns != 0;
        if (line.empty()) continue;
        say("probeload: {}\n", printable(line));
        return stop();
    }
    if (all_seen) stop();
}

void SessionWatch::stop() {
    statistics_ = UniqueFd();
    ticker_.stop();
}

}  // namespace djprobe::loader
