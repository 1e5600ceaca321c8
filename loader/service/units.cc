// SPDX-License-Identifier: GPL-2.0
#include "service/units.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <system_error>

#include "base/child.h"
#include "base/error.h"

namespace djprobe::loader {
namespace {

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

// As sd_booted() finds out.
bool systemd_runs() {
    std::error_code unknown;
    return std::filesystem::is_directory("/run/systemd/system", unknown);
}

[[noreturn]] void fail_without_systemd(const std::string& why) {
    fail(ExitCode::kFailure, "systemctl: {}: {}", first_line(why),
         systemd_runs() ? "systemd runs, but does not answer here"
                        : "probes that stay need systemd");
}

// Its own words are several lines, and say to read others.
Finished systemctl(const std::vector<std::string>& words) {
    std::vector<std::string> argv = {"systemctl"};
    argv.insert(argv.end(), words.begin(), words.end());
    try {
        return run_to_end(argv);
    } catch (const std::system_error& error) {
        fail_without_systemd(error.code().message());
    }
}

// That it has failed would stand in the way of a start, after some attempts.
void forget_failure(const std::string& name) {
    systemctl({"reset-failed", unit_of(name)});
}

ExitCode exit_code_of(const std::map<std::string, std::string>& shown) {
    const auto code = shown.find("ExecMainStatus"), cause = shown.find("ExecMainCode");
    constexpr const char* kExited = "1";  // CLD_EXITED
    if (code == shown.end() || cause == shown.end() || cause->second != kExited)
        return ExitCode::kFailure;
    for (const ExitCode known : kAllExitCodes)
        if (known != ExitCode::kOk && std::to_string(static_cast<int>(known)) == code->second)
            return known;
    return ExitCode::kFailure;
}

}  // namespace

std::string unit_of(const std::string& name) {
    return "probeload@" + name + ".service";
}

UnitState parse_state(std::string_view shown) {
    std::map<std::string, std::string> values;
    std::istringstream lines{std::string(shown)};
    for (std::string line; std::getline(lines, line);)
        if (const std::size_t equals = line.find('='); equals != line.npos)
            values.emplace(line.substr(0, equals), line.substr(equals + 1));
    UnitState state;
    const std::string active = values["ActiveState"];
    state.is_known = values["LoadState"] == "loaded";
    state.has_failed = active == "failed";
    state.is_running = !state.has_failed && active != "inactive";
    state.last_words = values["StatusText"];
    state.exit_code = exit_code_of(values);
    return state;
}

void check_systemd() {
    if (!systemd_runs())
        fail(ExitCode::kFailure, "systemd does not run here: probes that stay need it");
}

UnitState state_of(const std::string& name) {
    const Finished shown =
        systemctl({"show", "-p", "LoadState,ActiveState,StatusText,ExecMainCode,ExecMainStatus",
                   unit_of(name)});
    if (shown.status != 0) fail_without_systemd(shown.output);
    return parse_state(shown.output);
}

void start_unit(const std::string& name) {
    if (!state_of(name).is_known)
        fail(ExitCode::kFailure,
             "systemd has no probeload@.service: install probeload, then systemctl daemon-reload");
    forget_failure(name);
    const Finished started = systemctl({"start", unit_of(name)});
    if (started.status == 0) return;
    const UnitState state = state_of(name);
    // It would be started again.
    stop_unit(name);
    if (state.last_words.empty())
        fail(state.exit_code, "{}: {}: 'probeload logs {}' may have more", name,
             first_line(started.output), name);
    fail(state.exit_code, "{}: {}", name, state.last_words);
}

void stop_unit(const std::string& name) {
    const Finished stopped = systemctl({"stop", unit_of(name)});
    if (stopped.status != 0)
        fail(ExitCode::kFailure, "{}: systemctl stop: {}", name, first_line(stopped.output));
    forget_failure(name);
}

bool has_printed(const std::string& name) {
    try {
        const Finished last = run_to_end(
            {"journalctl", "--no-pager", "-q", "-n", "1", "-o", "cat", "-u", unit_of(name)});
        return last.status != 0 || !last.output.empty();
    } catch (const std::system_error&) {
        return true;  // who asks for more is told that
    }
}

void become(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    fail(ExitCode::kFailure, "{}: {}: probes that stay need systemd", words.front(),
         std::strerror(errno));
}

std::string unit_in_cgroup(const std::string& cgroup) {
    // A service may have cgroups of its own below it; a user's are below that of the user.
    constexpr std::string_view kEnd = ".service";
    const std::size_t end = cgroup.rfind(kEnd);
    if (end == cgroup.npos) return "";
    const std::size_t slash = cgroup.rfind('/', end);
    if (slash == cgroup.npos) return "";
    return cgroup.substr(slash + 1, end + kEnd.size() - slash - 1);
}

}  // namespace djprobe::loader
