// SPDX-License-Identifier: GPL-2.0
#include "session/summary.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <numeric>
#include <string_view>

#include "base/child.h"
#include "kernel/reason.h"

namespace djprobe::loader {
namespace {

constexpr std::array<const char*, DJPROBE_MISS_KINDS> kMissNames = {"recursion", "bpf-busy"};
constexpr std::array<const char*, 3> kMechanisms = {"none", "int3", "jump"};
constexpr std::array<const char*, 6> kStates = {"disarmed",  "armed",        "optimizing",
                                                "optimized", "unoptimizing", "gone"};

template <std::size_t N>
std::string name_in(const std::array<const char*, N>& names, std::uint32_t index) {
    return index < N ? names[index] : fmt::format("unknown-{}", index);
}

std::string miss_name(std::size_t kind) {
    return kind < kMissNames.size() ? kMissNames[kind] : fmt::format("cause-{}", kind);
}

std::string site_name(const djprobe_query& probe) {
    const std::string_view symbol(probe.symbol, strnlen(probe.symbol, sizeof probe.symbol));
    const std::string_view module(probe.module, strnlen(probe.module, sizeof probe.module));
    return fmt::format("{}{}{}+{:#x}", module, module.empty() ? "" : ":", symbol, probe.offset);
}

std::string mechanism_text(const djprobe_query& probe, Symbolizer& symbolizer) {
    if (probe.state == DJPROBE_STATE_GONE) return "nothing: its module was unloaded";
    std::string text = name_in(kMechanisms, probe.mechanism);
    if (probe.state == DJPROBE_STATE_OPTIMIZING) return text + ", the jump is pending";
    if (probe.mechanism == DJPROBE_MECHANISM_INT3 && probe.reason != DJPROBE_REASON_NONE) {
        const Reason reason{probe.reason, {probe.detail[0], probe.detail[1]}};
        text += ": " + describe_reason(reason, symbolizer);
    }
    return text;
}

std::string missed_text(const djprobe_query& probe) {
    std::string causes;
    for (std::size_t kind = 0; kind < DJPROBE_MISS_MAX; ++kind) {
        if (probe.missed[kind] == 0) continue;
        causes +=
            fmt::format("{}{} {}", causes.empty() ? "" : ", ", miss_name(kind), probe.missed[kind]);
    }
    const auto total =
        std::accumulate(probe.missed, probe.missed + DJPROBE_MISS_MAX, std::uint64_t{0});
    return causes.empty() ? "0" : fmt::format("{} ({})", total, causes);
}

std::string command_text(int status) {
    // The shell's own words for what it could not run.
    std::string text = "command: ended with " + describe_wait_status(status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) text += " (not found)";
    if (WIFEXITED(status) && WEXITSTATUS(status) == 126) text += " (not executable)";
    return text;
}

nlohmann::ordered_json probe_json(const djprobe_query& probe, const std::string& program,
                                  Symbolizer& symbolizer) {
    nlohmann::ordered_json json;
    json["site"] = site_name(probe);
    json["address"] = fmt::format("{:#x}", probe.address);
    json["program"] = program;
    json["cookie"] = probe.cookie;
    json["state"] = name_in(kStates, probe.state);
    json["mechanism"] = name_in(kMechanisms, probe.mechanism);
    if (probe.reason != DJPROBE_REASON_NONE) {
        const Reason reason{probe.reason, {probe.detail[0], probe.detail[1]}};
        json["reason"] = reason_name(probe.reason);
        json["reason_text"] = describe_reason(reason, symbolizer);
    }
    json["hits"] = probe.hits;
    json["missed"] = nlohmann::ordered_json::object();
    for (std::size_t kind = 0; kind < DJPROBE_MISS_MAX; ++kind) {
        if (kind < DJPROBE_MISS_KINDS || probe.missed[kind] != 0) {
            json["missed"][miss_name(kind)] = probe.missed[kind];
        }
    }
    std::string displaced;
    for (std::uint32_t i = 0; i < probe.displaced_len && i < sizeof probe.displaced; ++i) {
        displaced += fmt::format("{:02x}", probe.displaced[i]);
    }
    json["displaced"] = displaced;
    return json;
}

}  // namespace

std::string attached_line(const djprobe_query& probe, Symbolizer& symbolizer) {
    return fmt::format("attached {} ({:#x}) by {}", site_name(probe), probe.address,
                       mechanism_text(probe, symbolizer));
}

std::string summary_text(const Summary& summary, Symbolizer& symbolizer) {
    std::string text;
    for (const MapEntry& entry : summary.maps) {
        text += fmt::format("{}[{}] = {}\n", entry.map, entry.key_text, entry.value_text);
    }
    for (const djprobe_query& probe : summary.probes) {
        text += fmt::format("{}: hits {}, missed {}, by {}\n", site_name(probe), probe.hits,
                            missed_text(probe), mechanism_text(probe, symbolizer));
    }
    if (summary.loss) {
        text += fmt::format("events: {} received, {}\n", summary.received, summary.loss->str());
    }
    if (summary.command_status) text += command_text(*summary.command_status) + '\n';
    return text;
}

nlohmann::ordered_json summary_json(const Summary& summary, Symbolizer& symbolizer) {
    nlohmann::ordered_json json;
    json["type"] = "summary";
    json["probes"] = nlohmann::ordered_json::array();
    for (const djprobe_query& probe : summary.probes) {
        json["probes"].push_back(probe_json(probe, summary.program, symbolizer));
    }
    if (summary.loss) {
        json["events"]["received"] = summary.received;
        json["events"]["lost"] = nullptr;
        if (summary.loss->exact) {
            json["events"]["lost"] = *summary.loss->exact;
        } else {
            json["events"]["lost_at_most"] = summary.loss->at_most;
        }
    }
    for (const MapEntry& entry : summary.maps) {
        json["maps"][entry.map].push_back({{"key", entry.key}, {"value", entry.value}});
    }
    if (summary.command_status) {
        const int status = *summary.command_status;
        json["command"] = WIFSIGNALED(status)
                              ? nlohmann::ordered_json{{"signal", WTERMSIG(status)}}
                              : nlohmann::ordered_json{{"status", WEXITSTATUS(status)}};
    }
    return json;
}

void print_summary(const Summary& summary, Format format, Output& output, Symbolizer& symbolizer) {
    if (format != Format::kJson) {
        fmt::print(stderr, "{}", summary_text(summary, symbolizer));
        return;
    }
    const std::string line =
        summary_json(summary, symbolizer)
            .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    output.buffer().append(line.data(), line.data() + line.size());
    output.buffer().push_back('\n');
    output.flush();
}

}  // namespace djprobe::loader
