// SPDX-License-Identifier: GPL-2.0
// systemd's unit of a probe that stays: probeload@NAME.service.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/exit_code.h"

namespace djprobe::loader {

/// "probeload@NAME.service".
std::string unit_of(const std::string& name);

/// What systemd knows of a unit.
struct UnitState {
    bool is_known = false;    ///< there is a unit file for it
    bool is_running = false;  ///< or is about to, or to stop
    bool has_failed = false;
    std::string last_words;                   ///< of the process, see tell_manager_why()
    ExitCode exit_code = ExitCode::kFailure;  ///< with which the process has ended
};

/// Throws Error where systemd does not run.
void check_systemd();
/// Throws Error where there is no systemd.
UnitState state_of(const std::string& name);
/// The same from the answer of `systemctl show`: "KEY=VALUE" lines.
UnitState parse_state(std::string_view shown);

/// Waits until its probes are attached. Else nothing runs, and Error has the process' last words
/// and its exit code.
void start_unit(const std::string& name);
/// Waits until it has ended, and forgets how.
void stop_unit(const std::string& name);

/// Whether the journal has a line of it; also where that is not known.
bool has_printed(const std::string& name);
/// Becomes that program. Throws Error where it is not here.
[[noreturn]] void become(const std::vector<std::string>& words);

/// The unit that a process belongs to, by its cgroup ("0::/system.slice/NAME.service"); "" for
/// none.
std::string unit_in_cgroup(const std::string& cgroup);

}  // namespace djprobe::loader
