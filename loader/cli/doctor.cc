// SPDX-License-Identifier: GPL-2.0
#include "cli/doctor.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/output.h"
#include "base/plural.h"
#include "base/say.h"
#include "decode/quote.h"
#include "doctor/examine.h"

namespace djprobe::loader {
namespace {

using doctor::Finding;
using doctor::Findings;
using doctor::Health;

constexpr const char* kDoctorFooter = R"(Example:
  probeload doctor
      looks at the kernel, the module, permissions and packages; changes nothing

A line begins with 'ok', with 'note' where attaching works all the same, or with
'bad' where it does not. Behind '->' is the command that mends it.
)";

const char* word_of(Health health) {
    switch (health) {
        case Health::Ok:
            return "ok";
        case Health::Note:
            return "note";
        case Health::Bad:
            return "bad";
    }
    return "";
}

Findings examine(const doctor::Machine& machine) {
    Findings all;
    for (const auto examine_some : {doctor::examine_kernel, doctor::examine_module,
                                    doctor::examine_permissions, doctor::examine_packages}) {
        const Findings some = examine_some(machine);
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

std::string text_of(const Finding& finding) {
    const std::string mend = finding.command.empty() ? "" : "  -> " + finding.command;
    return printable(fmt::format("{:<4}  {:<14} {}{}", word_of(finding.health), finding.check,
                                 finding.text, mend)) +
           "\n";
}

std::string json_of(const Finding& finding) {
    nlohmann::ordered_json line;
    line["type"] = "finding";
    line["check"] = finding.check;
    line["health"] = word_of(finding.health);
    line["text"] = finding.text;
    if (!finding.command.empty()) line["command"] = finding.command;
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// What else is bad keeps djprobe's module away, but not the kernel's own probes.
bool keeps_all_away(const Finding& finding) {
    const auto checks = {"/sys", "rights", "configuration", "kprobes", "lockdown"};
    return std::ranges::find(checks, finding.check) != checks.end();
}

int run_doctor_verb(bool json) {
    Findings findings = examine(doctor::Machine::running());
    Output output(STDOUT_FILENO);
    for (const Finding& finding : findings)
        output.buffer().append(json ? json_of(finding) : text_of(finding));
    output.flush();
    std::erase_if(findings, [](const Finding& finding) { return finding.health != Health::Bad; });
    if (findings.empty()) return static_cast<int>(ExitCode::kOk);
    const std::string bad = plural(findings.size(), "thing");
    if (std::ranges::any_of(findings, keeps_all_away))
        say("probeload: {} must be mended before probeload can attach\n", bad);
    else
        say("probeload: {} must be mended before djprobe can attach; until then attach, "
            "trace, count and latency take the kernel's own probes\n",
            bad);
    return static_cast<int>(ExitCode::kFailure);
}

}  // namespace

Command add_doctor(CLI::App& app) {
    CLI::App* const command = app.add_subcommand(
        "doctor", "Say what keeps probeload from working here, and what mends it");
    command->footer(kDoctorFooter);
    const auto json = std::make_shared<bool>(false);
    command->add_flag("-j,--json", *json, "NDJSON: a line for each thing that was looked at");
    return {command,
            [json] { return run_doctor_verb(*json); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage}};
}

}  // namespace djprobe::loader
