// SPDX-License-Identifier: GPL-2.0
#include "run/start.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"

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

Tool start_tool(const RunOptions& options, const PassedOn& signals, Filter filter, Stdout output) {
    try {
        return Tool::start(options.tool, filter, output, signals.blocked_before());
    } catch (const std::system_error& error) {
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
