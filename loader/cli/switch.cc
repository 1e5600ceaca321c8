// SPDX-License-Identifier: GPL-2.0
#include "cli/switch.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/output.h"
#include "kernel/device.h"

namespace djprobe::loader {
namespace {

constexpr const char* kOffFooter = R"(Examples:
  probeload off
      the kernel's text holds no probe; their processes keep them
  probeload off --jumps
      every probe is an int3

Prints how the switches stand. It lasts until 'probeload on' or until the module
is unloaded, and holds for probes that are attached meanwhile. Lockdown does not
forbid it.
)";

constexpr const char* kOnFooter = R"(Examples:
  probeload on
      the probes that 'probeload off' has taken away are in the text again
  probeload on --jumps
      probes become jumps again

Prints how the switches stand. Lockdown 'confidentiality' forbids it, as it
forbids to attach.
)";

int run_switch_verb(bool jumps, bool on) {
    const std::uint32_t change = jumps ? DJPROBE_SWITCH_JUMPS : DJPROBE_SWITCH_PROBES;
    const std::uint32_t stand = Device::open().set_switches(change, on ? change : 0);
    const auto word = [stand](std::uint32_t which) { return stand & which ? "on" : "off"; };
    Output output(STDOUT_FILENO);
    output.print(fmt::format("probes {}, jumps {}\n", word(DJPROBE_SWITCH_PROBES),
                             word(DJPROBE_SWITCH_JUMPS)));
    return static_cast<int>(ExitCode::kOk);
}

Command add(CLI::App& app, bool on, const char* name, const char* what, const char* footer) {
    CLI::App* const command = app.add_subcommand(name, what);
    command->footer(footer);
    const auto jumps = std::make_shared<bool>(false);
    command->add_flag("--jumps", *jumps, "Jumps only: without them a probe is an int3");
    return {command,
            [jumps, on] { return run_switch_verb(*jumps, on); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kNotLoaded,
             ExitCode::kAbiMismatch, ExitCode::kNoPermission}};
}

}  // namespace

Command add_off(CLI::App& app) {
    return add(app, false, "off", "Take all probes out of the kernel's text", kOffFooter);
}

Command add_on(CLI::App& app) {
    return add(app, true, "on", "Put them back", kOnFooter);
}

}  // namespace djprobe::loader
