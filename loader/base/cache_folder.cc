// SPDX-License-Identifier: GPL-2.0
#include "base/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

bool is_ours(const fs::path& directory) {
    struct stat status = {};
    return lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & 022) == 0;
}

// What may change a folder's name decides what is in it: root and we may.
bool is_safe_parent(const fs::path& directory) {
    struct stat status = {};
    if (stat(directory.c_str(), &status) != 0) return false;
    const bool others_write = (status.st_mode & 022) != 0 && (status.st_mode & S_ISVTX) == 0;
    return (status.st_uid == 0 || status.st_uid == geteuid()) && !others_write;
}

bool has_safe_parents(const fs::path& directory) {
    for (fs::path one = directory.parent_path();; one = one.parent_path()) {
        if (!is_safe_parent(one)) return false;
        if (one == one.root_path()) return true;
    }
}

fs::path first_there(fs::path directory) {
    std::error_code error;
    while (!fs::exists(directory, error) && directory != directory.root_path())
        directory = directory.parent_path();
    return directory;
}

// As the specification of these folders has it: what is no absolute path is none.
std::optional<fs::path> absolute_path_in(const char* variable) {
    const char* const value = std::getenv(variable);
    if (!value || value[0] != '/') return std::nullopt;
    return value;
}

}  // namespace

std::optional<fs::path> cache_folder() {
    const std::optional<fs::path> cache = absolute_path_in("XDG_CACHE_HOME");
    const std::optional<fs::path> home = absolute_path_in("HOME");
    if (!cache && !home) return std::nullopt;
    const fs::path directory = (cache ? *cache : *home / ".cache") / "djprobe";
    std::error_code error;
    // Root may have another user's home (sudo -E), and is to leave no folder of its own there.
    if (!fs::exists(directory, error) && !is_safe_parent(first_there(directory)))
        return std::nullopt;
    if (fs::create_directories(directory, error))
        fs::permissions(directory, fs::perms::owner_all, error);
    if (error || !is_ours(directory)) return std::nullopt;
    // By its real path, in which no link can be turned elsewhere.
    fs::path real = fs::canonical(directory, error);
    if (error || !has_safe_parents(real)) return std::nullopt;
    return real;
}

}  // namespace djprobe::loader
