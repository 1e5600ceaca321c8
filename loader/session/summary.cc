// SPDX-License-Identifier: GPL-2.0
#include "session/summary.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include "base/say.h"
#include "session/command.h"

namespace djprobe::loader {

std::string summary_text(const Summary& summary, Symbolizer& symbolizer) {
    std::string text;
    if (summary.seconds) text += fmt::format("snapshot after {:.1f} s:\n", *summary.seconds);
    for (const Variable& variable : summary.variables)
        text += fmt::format("{} = {}\n{}", variable.name, variable.text, variable.chart);
    for (const MapEntry& entry : summary.maps.entries)
        text += fmt::format("{}[{}] = {}\n{}", entry.map, entry.key_text, entry.value_text,
                            entry.chart);
    for (const MapDump::LeftOut& more : summary.maps.left_out)
        text += fmt::format("{}: {} more {}{}\n", more.map, more.entries,
                            more.entries == 1 ? "entry" : "entries",
                            more.cut ? ", and some that were not read" : "");
    for (const AttachmentReport& report : summary.attachments)
        text += report_text(report, symbolizer);
    for (const KernelReport& report : summary.kernel)
        text += kernel_report_text(report);
    if (summary.loss) {
        text += fmt::format("events: {} received, {}\n", summary.received, summary.loss->str());
    }
    if (summary.command_status) text += command_text(*summary.command_status) + '\n';
    return text;
}

nlohmann::ordered_json summary_json(const Summary& summary, Symbolizer& symbolizer) {
    nlohmann::ordered_json json;
    json["type"] = summary.seconds ? "snapshot" : "summary";
    if (summary.seconds) json["seconds"] = *summary.seconds;
    json["probes"] = nlohmann::ordered_json::array();
    for (const AttachmentReport& report : summary.attachments)
        json["probes"].push_back(report_json(report, symbolizer));
    for (const KernelReport& report : summary.kernel)
        json["probes"].push_back(kernel_report_json(report));
    for (const Program& other : summary.others)
        json["others"].push_back({{"program", other.name}, {"section", other.section}});
    if (summary.loss) {
        json["events"]["received"] = summary.received;
        json["events"]["lost"] = nullptr;
        if (summary.loss->exact) {
            json["events"]["lost"] = *summary.loss->exact;
        } else {
            json["events"]["lost_at_most"] = summary.loss->at_most;
        }
    }
    for (const Variable& variable : summary.variables)
        json["variables"][variable.name] = variable.value;
    for (const MapEntry& entry : summary.maps.entries) {
        json["maps"][entry.map].push_back({{"key", entry.key}, {"value", entry.value}});
    }
    for (const MapDump::LeftOut& more : summary.maps.left_out)
        json["maps_left_out"][more.map] = {{"entries", more.entries}, {"cut", more.cut}};
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
        write_stderr(summary_text(summary, symbolizer));
        return;
    }
    output.print(summary_json(summary, symbolizer)
                     .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                 '\n');
}

}  // namespace djprobe::loader
