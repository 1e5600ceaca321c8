// SPDX-License-Identifier: GPL-2.0
#include "trace/cgroup.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

bool is_cgroup(const fs::path& folder) {
    struct statfs status = {};
    return statfs(folder.c_str(), &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
}

// A program counts levels from the root of all groups, which a namespace hides.
void check_namespace() {
    std::error_code error;
    // The kernel's PROC_CGROUP_INIT_INO.
    if (fs::read_symlink("/proc/self/ns/cgroup", error) == "cgroup:[4026531835]") return;
    fail(
        ExitCode::kUsage,
        "--cgroup: probeload runs in a cgroup namespace of its own, where the levels of groups are "
        "not known: run it outside");
}

}  // namespace

Cgroup find_cgroup(const std::string& path) {
    const fs::path asked =
        path.starts_with('/') ? fs::path(path) : "/sys/fs/cgroup" / fs::path(path);
    std::error_code error;
    const fs::path folder = fs::canonical(asked, error);
    struct stat status = {};
    if (error || stat(folder.c_str(), &status) != 0)
        fail(ExitCode::kUsage, "--cgroup: {}: {}", asked.string(),
             error ? error.message() : std::strerror(errno));
    if (!S_ISDIR(status.st_mode) || !is_cgroup(folder))
        fail(ExitCode::kUsage,
             "--cgroup: {}: is no folder of a cgroup file system of version 2, like "
             "/sys/fs/cgroup/system.slice",
             asked.string());
    check_namespace();
    Cgroup cgroup{status.st_ino, 0};
    for (fs::path one = folder; is_cgroup(one.parent_path()) && one != one.root_path();
         one = one.parent_path())
        ++cgroup.level;
    return cgroup;
}

}  // namespace djprobe::loader
