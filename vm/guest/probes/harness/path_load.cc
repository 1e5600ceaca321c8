// SPDX-License-Identifier: GPL-2.0
#include "path_load.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "probe.h"

namespace djprobe::vm {
namespace {

/// A failed call with this errno.
bool fails(int result, int error) {
    return result < 0 && errno == error;
}

uint64_t use_a_file(const std::string& path) {
    struct stat status;
    char buffer[8] = {};
    const Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    uint64_t wrong = !file;
    wrong += write(file.get(), "storm", 5) != 5;
    wrong += pread(file.get(), buffer, sizeof buffer, 0) != 5 || std::strcmp(buffer, "storm") != 0;
    wrong += fstat(file.get(), &status) != 0 || status.st_size != 5;
    wrong += !fails(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600), EEXIST);
    wrong += !fails(open(path.c_str(), O_RDONLY | O_DIRECTORY), ENOTDIR);
    return wrong;
}

uint64_t use_names(const std::string& folder, const std::string& file) {
    struct stat status;
    char buffer[64];
    const std::string link = folder + "/link", other = folder + "/other";
    uint64_t wrong = symlink("file", link.c_str()) != 0;
    wrong += stat(link.c_str(), &status) != 0 || status.st_size != 5;
    wrong += lstat(link.c_str(), &status) != 0 || !S_ISLNK(status.st_mode);
    wrong += readlink(link.c_str(), buffer, sizeof buffer) != 4;
    wrong += !Fd(open(link.c_str(), O_RDONLY | O_CLOEXEC));
    wrong += !fails(open(link.c_str(), O_RDONLY | O_NOFOLLOW), ELOOP);
    wrong += rename(file.c_str(), other.c_str()) != 0;
    wrong += !fails(stat(link.c_str(), &status), ENOENT);
    wrong += unlink(link.c_str()) != 0;
    wrong += unlink(other.c_str()) != 0;
    return wrong;
}

uint64_t use_proc() {
    struct stat status;
    char buffer[64];
    const Fd version(open("/proc/version", O_RDONLY | O_CLOEXEC));
    uint64_t wrong = read(version.get(), buffer, sizeof buffer) != sizeof buffer;
    wrong += stat("/proc/self/../self/status", &status) != 0;
    wrong += !fails(stat("/no/such/file", &status), ENOENT);
    wrong += access("/proc/self/exe", R_OK) != 0;
    return wrong;
}

}  // namespace

uint64_t use_paths(uint64_t times, const char* folder) {
    const std::string file = std::string(folder) + "/file";
    uint64_t wrong = 0;
    for (; times; --times) {
        wrong += mkdir(folder, 0700) != 0;
        wrong += use_a_file(file);
        wrong += use_names(folder, file);
        wrong += rmdir(folder) != 0;
        wrong += use_proc();
    }
    return wrong;
}

}  // namespace djprobe::vm
