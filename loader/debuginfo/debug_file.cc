// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/debug_file.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "debuginfo/build_id.h"
#include "debuginfo/debuginfod.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

std::string release() {
    utsname name;
    uname(&name);
    return name.release;
}

// A module's file has '-' or '_' where its name has '_'.
bool is_file_of(const std::string& module, const fs::path& path) {
    std::string name = path.filename();
    if (module.empty()) return name == "vmlinux" || name.starts_with("vmlinux-");
    std::ranges::replace(name, '-', '_');
    return name == module + ".ko" || name == module + ".ko.debug";
}

std::vector<fs::path> files_below(const fs::path& folder, const std::string& module) {
    std::vector<fs::path> found;
    std::error_code error;
    fs::recursive_directory_iterator files(folder, fs::directory_options::skip_permission_denied,
                                           error);
    for (; !error && files != fs::recursive_directory_iterator(); files.increment(error))
        if (is_file_of(module, files->path())) found.push_back(files->path());
    return found;
}

// All that might be it.
std::vector<fs::path> candidates(const std::string& module,
                                 const std::optional<std::string>& folder) {
    std::error_code error;
    if (folder && fs::is_regular_file(*folder, error)) return {*folder};
    const fs::path top = folder.value_or("/usr/lib/debug");
    if (!module.empty()) return files_below(folder ? top : top / "lib/modules" / release(), module);
    std::vector<fs::path> found;
    for (const std::string& name : {"vmlinux-" + release(), std::string("vmlinux")})
        for (const char* below : {"", "boot", "usr/lib/debug/boot"})
            if (fs::exists(top / below / name, error)) found.push_back(top / below / name);
    return found;
}

// Debian names its packages by the release.
std::string advice() {
    return fmt::format(
        "install the package linux-image-{}-dbg, name its folder with --debuginfo, or a server in "
        "DEBUGINFOD_URLS",
        release());
}

/// What a user has named is a folder, or a file that can be the right one.
void check_named(const std::optional<std::string>& folder) {
    std::error_code error;
    const fs::file_status status = folder ? fs::status(*folder, error) : fs::file_status();
    if (!folder || fs::is_directory(status)) return;
    if (!fs::exists(status))
        fail(ExitCode::kBadFile, "--debuginfo {}: {}", *folder, error.message());
    if (!fs::is_regular_file(status) || file_build_id(*folder).empty())
        fail(ExitCode::kBadFile,
             "--debuginfo {}: neither a folder nor an ELF file with a build id: a vmlinux, or a "
             "module's .ko or .ko.debug",
             *folder);
}

}  // namespace

std::optional<std::string> installed_debug_file(const std::string& module) {
    const BuildId running = running_build_id(module);
    for (const fs::path& path : candidates(module, std::nullopt))
        if (!running.empty() && file_build_id(path) == running) return path;
    return std::nullopt;
}

std::string find_debug_file(const std::string& module, const std::optional<std::string>& folder) {
    check_named(folder);
    const std::string what = module.empty() ? "the running kernel" : "the module " + module;
    const BuildId running = running_build_id(module);
    const std::vector<fs::path> found = candidates(module, folder);
    for (const fs::path& path : found)
        if (running.empty() || file_build_id(path) == running) return path;
    if (!found.empty())
        fail(ExitCode::kBadFile, "{}: belongs to another build than {}: {}", found.front().string(),
             what, advice());
    if (folder)
        fail(ExitCode::kBadFile, "{}: no debug information of {} there: {}", *folder, what,
             advice());
    if (const char* const servers = std::getenv("DEBUGINFOD_URLS"); servers && *servers)
        return fetch_debug_file(running, what);
    fail(ExitCode::kBadFile, "no debug information of {}: {}", what, advice());
}

std::string find_debug_file_of(const std::string& kernel, const std::string& module,
                               const std::string& folder) {
    std::error_code error;
    // A module's build is not known here, and a file of BTF alone tells none.
    const BuildId wanted = module.empty() ? file_build_id(kernel) : BuildId();
    const bool is_file = !fs::is_directory(folder, error);
    const std::vector<fs::path> found =
        is_file ? std::vector<fs::path>{folder} : files_below(folder, module);
    for (const fs::path& path : found) {
        const BuildId own = wanted.empty() ? wanted : file_build_id(path);
        // What is wrong with a file that was named is told by who reads it.
        if (own == wanted || (is_file && own.empty())) return path;
    }
    if (!found.empty())
        fail(ExitCode::kBadFile, "{}: belongs to another build than {}", found.front().string(),
             kernel);
    fail(ExitCode::kBadFile, "{}: no debug information of {} there", folder,
         module.empty() ? kernel : "the module " + module);
}

}  // namespace djprobe::loader
