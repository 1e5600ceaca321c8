// SPDX-License-Identifier: GPL-2.0
#include "base/temp_dir.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.h"

namespace djprobe::loader {
namespace {

// A signal's handler may not look at what it interrupts: each of these is whole before it counts.
using Path = std::array<char, PATH_MAX>;
Path directory_path;
std::array<Path, 3> file_paths;
volatile std::sig_atomic_t has_directory = 0;
volatile std::sig_atomic_t file_count = 0;

void keep(Path& to, const std::string& path) {
    if (path.size() >= to.size()) fail(ExitCode::kFailure, "{}: the name is too long", path);
    std::memcpy(to.data(), path.c_str(), path.size() + 1);
}

}  // namespace

TempDir::TempDir(Process process) : process_(process) {
    std::error_code ignored;
    std::filesystem::path parent = std::filesystem::temp_directory_path(ignored);
    if (parent.empty()) parent = "/tmp";
    std::string pattern = parent / "probeload.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
        fail(ExitCode::kFailure, "cannot make a directory in {}: {}", parent.string(),
             std::strerror(errno));
    }
    path_ = pattern;
    if (process_ == Process::kCallers) return;
    keep(directory_path, pattern);
    file_count = 0;
    has_directory = 1;
}

TempDir::~TempDir() {
    if (process_ == Process::kOurs) has_directory = 0;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TempDir::file(std::string_view name) {
    std::filesystem::path path = path_ / name;
    if (process_ == Process::kCallers) return path;
    keep(file_paths.at(static_cast<std::size_t>(file_count)), path);
    file_count = file_count + 1;
    return path;
}

void TempDir::remove_all_at_once() noexcept {
    if (!has_directory) return;
    for (int i = 0; i < file_count; ++i)
        unlink(file_paths[static_cast<std::size_t>(i)].data());
    rmdir(directory_path.data());
}

}  // namespace djprobe::loader
