// SPDX-License-Identifier: GPL-2.0
#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/write.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // the kernel's own limit

[[noreturn]] void fail_file(const char* option, const fs::path& file, int error) {
    fail(ExitCode::kFailure, "{}: {}: {}", option, file.string(), std::strerror(error));
}

// A file system takes names of 255 bytes, and the file may have one of these.
fs::path unfinished(const fs::path& file) {
    const std::string own = "." + std::to_string(getpid());
    const std::string name = file.filename().string();
    return file.parent_path() / (name.substr(0, 255 - own.size()) + own);
}

bool is_folder(const fs::path& file) {
    std::error_code error;
    return fs::is_directory(file, error);
}

// 0, or an errno.
int write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write_some(fd, text);
        if (written < 0) return errno;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

int write_to(const fs::path& file, int flags, std::string_view text, const struct stat* like) {
    const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0666);
    if (fd < 0) return errno;
    // Who may read the old text may read the new one; where it cannot be so, it is as of any file.
    if (like && fchown(fd, like->st_uid, like->st_gid) == 0) fchmod(fd, like->st_mode);
    const int error = write_all(fd, text);
    // Some file systems tell only now that they are full.
    return close(fd) < 0 && error == 0 ? errno : error;
}

int replace(const fs::path& file, std::string_view text) {
    const fs::path part = unfinished(file);
    struct stat old = {};
    const bool was_there = lstat(file.c_str(), &old) == 0 && S_ISREG(old.st_mode);
    int error = write_to(part, O_NOFOLLOW, text, was_there ? &old : nullptr);
    if (error == 0 && rename(part.c_str(), file.c_str()) < 0) error = errno;
    if (error != 0) unlink(part.c_str());
    return error;
}

int why_not_replaceable(const fs::path& file) {
    if (is_folder(file)) return EISDIR;
    const fs::path part = unfinished(file);
    const int error = write_to(part, O_NOFOLLOW, "", nullptr);
    unlink(part.c_str());
    return error;
}

fs::path folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : ".";
}

// Another file in its place would not be where the shell has sent stdout.
bool is_open_file(const fs::path& link) {
    std::error_code error;
    return fs::canonical(folder_of(link), error).string().starts_with("/proc/");
}

// The name to take; none where the file must stay the same one.
std::optional<fs::path> replaceable(fs::path name) {
    std::error_code error;
    const fs::file_status status = fs::status(name, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) return std::nullopt;
    for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(name, error)); ++i) {
        if (is_open_file(name)) return std::nullopt;
        name = name.parent_path() / fs::read_symlink(name, error);
    }
    if (fs::exists(status) && access(folder_of(name).c_str(), W_OK) < 0) return std::nullopt;
    return name;
}

// A file that is protected from being written is protected from being replaced.
int why_not_writable(const fs::path& file) {
    if (is_folder(file)) return EISDIR;
    return access(file.c_str(), W_OK) < 0 && errno != ENOENT ? errno : 0;
}

}  // namespace

void replace_file(const char* option, const fs::path& file, std::string_view text) {
    if (const int error = replace(file, text)) fail_file(option, file, error);
}

void check_replaceable(const char* option, const fs::path& file) {
    if (const int error = why_not_replaceable(file)) fail_file(option, file, error);
}

void write_whole(const char* option, const fs::path& file, std::string_view text) {
    int error = why_not_writable(file);
    if (error != 0) fail_file(option, file, error);
    const std::optional<fs::path> name = replaceable(file);
    error = name ? replace(*name, text) : write_to(file, 0, text, nullptr);
    if (error != 0) fail_file(option, file, error);
}

void check_writable(const char* option, const fs::path& file) {
    int error = why_not_writable(file);
    const std::optional<fs::path> name = replaceable(file);
    if (error == 0 && name) error = why_not_replaceable(*name);
    if (error != 0) fail_file(option, file, error);
}

}  // namespace djprobe::loader
