// SPDX-License-Identifier: GPL-2.0
#include "cli/list.h"

#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/output.h"
#include "base/plural.h"
#include "base/say.h"
#include "decode/quote.h"
#include "kernel/device.h"
#include "kernel/open_probes.h"
#include "service/units.h"
#include "session/report.h"
#include "session/site_names.h"

namespace djprobe::loader {
namespace {

constexpr const char* kListFooter = R"(Examples:
  probeload list
      every process that has probes, its program, its sites and their counters
  probeload list -j | jq -r .site
      a line of JSON for each probe

Ending the process (kill PID) takes its probes away. Those of kernel modules (C
API) belong to no process: debugfs djprobe/list has them, too.
)";

std::string known(const std::string& name) {
    return name.empty() ? "?" : name;
}

struct Owner {
    std::string unit;  // "" for none
    uid_t user = 0;
};

Owner owner_of(pid_t pid) {
    const std::string process = fmt::format("/proc/{}", pid);
    std::ifstream cgroups(process + "/cgroup");
    Owner owner;
    for (std::string line; owner.unit.empty() && std::getline(cgroups, line);)
        owner.unit = unit_in_cgroup(line);
    struct stat status = {};
    if (stat(process.c_str(), &status) == 0) owner.user = status.st_uid;
    return owner;
}

std::string user_name(uid_t user) {
    const passwd* const entry = getpwuid(user);
    return entry ? entry->pw_name : std::to_string(user);
}

// What is no service, and root's, is as ever.
std::string owner_text(const Owner& owner) {
    std::string text;
    if (!owner.unit.empty()) text += fmt::format(", of {}", owner.unit);
    if (owner.user != 0) text += fmt::format(", of user {}", user_name(owner.user));
    return text;
}

std::string what_runs(const OpenProbe& file) {
    if (file.map_id)
        return fmt::format("counters in map {} (id {})", known(map_name(file.map_id)), file.map_id);
    std::string programs =
        fmt::format("program {} (id {})", known(program_name(file.program_id)), file.program_id);
    if (file.entry_program_id)
        programs += fmt::format(" and at entry {} (id {})",
                                known(program_name(file.entry_program_id)), file.entry_program_id);
    return programs;
}

std::string head_of(const OpenProbe& file, std::size_t probes) {
    return printable_name(fmt::format("pid {} ({}){}, {}: {}", file.pid, file.comm,
                                      owner_text(owner_of(file.pid)), what_runs(file),
                                      plural(probes, "probe"))) +
           "\n";
}

std::string json_line(const OpenProbe& file, const ProbeState& probe, Symbolizer& symbolizer) {
    nlohmann::ordered_json json;
    json["type"] = "probe";
    json["pid"] = file.pid;
    json["comm"] = file.comm;
    const Owner owner = owner_of(file.pid);
    if (!owner.unit.empty()) json["unit"] = owner.unit;
    json["uid"] = owner.user;
    json["attachment"] = file.attachment;
    if (file.map_id)
        json["map_id"] = file.map_id;
    else
        json["prog_id"] = file.program_id;
    if (file.entry_program_id) json["entry_prog_id"] = file.entry_program_id;
    json.update(probe_json(probe, program_name(file.program_id), symbolizer));
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int run_list_verb(bool json) {
    const std::uint32_t on = Device::open().set_switches(0, 0);
    if (access("/proc/self", F_OK) != 0)
        fail(ExitCode::kFailure,
             "/proc is missing, where processes show their probes: mount -t proc proc /proc");
    Output output(STDOUT_FILENO);
    Symbolizer symbolizer;
    std::size_t listed = 0;
    for (const OpenProbe& file : find_open_probes()) {
        const auto probe = borrow(file);
        if (!probe) continue;
        auto queries = probe->queries(true);
        // A function of another module may be now where a module was unloaded.
        name_gone(Kallsyms{}, queries);
        const bool gone = std::ranges::any_of(
            queries, [](const ProbeState& query) { return query.state == DJPROBE_STATE_GONE; });
        if (gone) name_kept(kept_names(file.pid), queries);
        if (!json) output.buffer().append(head_of(file, queries.size()));
        for (const ProbeState& query : queries) {
            const std::string line =
                json ? json_line(file, query, symbolizer) : "  " + probe_line(query, symbolizer);
            output.buffer().append(line);
            output.flush_if_full();
        }
        listed += queries.size();
    }
    output.flush();
    if (listed == 0) say("no process has probes\n");
    for (const std::string& line : what_is_off(on))
        say("{}\n", line);
    return static_cast<int>(ExitCode::kOk);
}

}  // namespace

Command add_list(CLI::App& app) {
    CLI::App* const command = app.add_subcommand("list", "Show which probes there are, and whose");
    command->footer(kListFooter);
    const auto json = std::make_shared<bool>(false);
    command->add_flag("-j,--json", *json, "NDJSON: a line for each probe");
    return {command,
            [json] { return run_list_verb(*json); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kNotLoaded,
             ExitCode::kAbiMismatch, ExitCode::kNoPermission}};
}

}  // namespace djprobe::loader
