// SPDX-License-Identifier: GPL-2.0
#include "run/start.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "decode/quote.h"

namespace djprobe::loader {
namespace {

// What fs.nr_open allows unless root has changed it. Not each caller may have more than its own
// hard limit.
constexpr rlim_t kMostDescriptors = 1u << 20;

}  // namespace

void require_files_of_kernel() {
    std::error_code error;
    const std::string self = std::filesystem::read_symlink("/proc/self", error).string();
    if (self != std::to_string(getpid()))
        fail(ExitCode::kFailure,
             "/proc does not show this process: mount one for its PID namespace, as "
             "'unshare --mount-proc' does");
    // There all the same: a kernel without kprobe events.
    if (!std::filesystem::exists("/sys/bus/event_source", error))
        fail(ExitCode::kFailure,
             "/sys does not show the kernel's events: mount it (mount -t sysfs none /sys)");
}

Device open_working_device() {
    Device device = Device::open();
    const std::uint32_t on = device.set_switches(0, 0);
    if (!(on & DJPROBE_SWITCH_PROBES)) fail(ExitCode::kFailure, "{}", what_is_off(on).front());
    return device;
}

namespace {

/// The first of this name that can be run. Empty: there is none.
std::filesystem::path find_tool(const std::string& name) {
    if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
    const char* const path = getenv("PATH");
    std::istringstream folders(path ? path : "/bin:/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (std::filesystem::path file = std::filesystem::path(folder) / name;
            access(file.c_str(), X_OK) == 0)
            return file;
    return {};
}

/// What a script's first line names, if that is missing: the kernel tells no more than that
/// something is.
std::string missing_interpreter(const std::string& tool) {
    std::ifstream script(find_tool(tool));
    std::string line, interpreter;
    if (!std::getline(script, line) || !line.starts_with("#!")) return {};
    std::istringstream(line.substr(2)) >> interpreter;
    return access(interpreter.c_str(), F_OK) == 0 ? "" : interpreter;
}

}  // namespace

Tool start_tool(const RunOptions& options, const PassedOn& signals, Filter filter, Stdout output) {
    try {
        return Tool::start(options.tool, filter, output, signals.blocked_before());
    } catch (const std::system_error& error) {
        const std::string& name = options.tool.front();
        const std::string missing =
            error.code().value() == ENOENT ? missing_interpreter(name) : std::string();
        if (!missing.empty())
            fail(ExitCode::kCommandFailed, "{}: its first line names {}, which does not exist",
                 printable_name(name), printable_name(missing));
        fail(ExitCode::kCommandFailed, "{}", error.what());
    }
}

void raise_descriptor_limit() {
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    rlimit most = {kMostDescriptors, kMostDescriptors};
    if (limit.rlim_max < kMostDescriptors && setrlimit(RLIMIT_NOFILE, &most) == 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace djprobe::loader
