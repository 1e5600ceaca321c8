// SPDX-License-Identifier: GPL-2.0
#include "session/pipe_readers.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMost = 16;

pid_t number_of(const fs::path& folder) {
    const std::string name = folder.filename();
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc{} && end == name.data() + name.size() ? number : 0;
}

bool is_open_for_reading(const fs::path& process, const fs::path& fd) {
    std::ifstream about(process / "fdinfo" / fd.filename());
    for (std::string word; about >> word;)
        if (int flags = 0; word == "flags:" && about >> std::oct >> flags)
            return (flags & O_ACCMODE) != O_WRONLY;
    return false;
}

// What cannot be read is not ours to know.
bool reads(const fs::path& process, const std::string& pipe) {
    std::error_code error;
    fs::directory_iterator fd(process / "fd", error);
    for (; !error && fd != fs::directory_iterator(); fd.increment(error)) {
        std::error_code unreadable;
        if (fs::read_symlink(fd->path(), unreadable) == pipe &&
            is_open_for_reading(process, fd->path()))
            return true;
    }
    return false;
}

std::vector<pid_t> readers_of(const std::string& pipe) {
    std::vector<pid_t> readers;
    std::error_code error;
    fs::directory_iterator process("/proc", error);
    for (; !error && process != fs::directory_iterator(); process.increment(error)) {
        const pid_t number = number_of(process->path());
        if (number > 0 && number != getpid() && reads(process->path(), pipe))
            readers.push_back(number);
    }
    return readers;
}

std::string output_of(const std::string& process) {
    std::error_code error;
    return fs::read_symlink("/proc/" + process + "/fd/1", error);
}

}  // namespace

bool is_pipe(int fd) {
    struct stat status = {};
    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

std::vector<pid_t> pipe_readers(int fd) {
    std::error_code error;
    std::vector<std::string> pipes = {fs::read_symlink(fmt::format("/proc/self/fd/{}", fd), error)};
    std::set<std::string> known(pipes.begin(), pipes.end());
    std::vector<pid_t> all;
    while (!pipes.empty() && all.size() < kMost) {
        const std::vector<pid_t> readers = readers_of(pipes.back());
        pipes.pop_back();
        for (const pid_t reader : readers) {
            if (std::ranges::find(all, reader) != all.end() || all.size() == kMost) continue;
            all.push_back(reader);
            const std::string output = output_of(std::to_string(reader));
            if (output.starts_with("pipe:") && known.insert(output).second) pipes.push_back(output);
        }
    }
    return all;
}

}  // namespace djprobe::loader
