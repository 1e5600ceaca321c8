// SPDX-License-Identifier: GPL-2.0
#include "run/task_number.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

using Folder = std::filesystem::directory_iterator;

/// A PID namespace, and how deep it is below that of this process, which has depth 1.
struct Namespace {
    std::size_t depth = 0;
    UniqueFd file;
};

/// The numbers of a task, from the namespace of this process to its own.
std::vector<pid_t> numbers_of(pid_t thread) {
    std::istringstream line(field_of(fmt::format("/proc/{}/status", thread), "NSpid"));
    std::vector<pid_t> numbers;
    for (pid_t number = 0; line >> number;)
        numbers.push_back(number);
    return numbers;
}

UniqueFd namespace_of(pid_t thread) {
    return UniqueFd(open(fmt::format("/proc/{}/ns/pid", thread).c_str(), O_RDONLY | O_CLOEXEC));
}

bool are_same(const UniqueFd& one, const UniqueFd& other) {
    struct stat first = {}, second = {};
    return fstat(one.get(), &first) == 0 && fstat(other.get(), &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool is_called(pid_t thread, pid_t number, const Namespace& by) {
    const std::vector<pid_t> numbers = numbers_of(thread);
    if (numbers.size() < by.depth || numbers[by.depth - 1] != number) return false;
    UniqueFd file = namespace_of(thread);
    for (std::size_t depth = numbers.size(); file && depth > by.depth; --depth)
        file = UniqueFd(ioctl(file.get(), NS_GET_PARENT));
    return file && are_same(file, by.file);
}

/// The number that a folder of /proc is named by; 0: it is no task's.
pid_t task_of(const std::filesystem::path& folder) {
    const std::string name = folder.filename().string();
    pid_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    return number;
}

/// Calls `visit` with each folder's task until it is true: that task; 0: none.
template <class Visit>
pid_t find_task(const std::string& folder, Visit visit) {
    std::error_code error;
    for (Folder at(folder, error), end; !error && at != end; at.increment(error))
        if (const pid_t task = task_of(at->path()))
            if (const pid_t found = visit(task)) return found;
    return 0;
}

}  // namespace

std::string field_of(const std::string& path, std::string_view name) {
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name) || line[name.size()] != ':') continue;
        const std::size_t value = line.find_first_not_of(" \t", name.size() + 1);
        return value == line.npos ? "" : line.substr(value);
    }
    return "";
}

pid_t number_here(pid_t thread, pid_t number) {
    const Namespace of_thread = {numbers_of(thread).size(), namespace_of(thread)};
    if (of_thread.depth <= 1) return number;
    return find_task("/proc", [&](pid_t process) {
        return find_task(fmt::format("/proc/{}/task", process),
                         [&](pid_t task) { return is_called(task, number, of_thread) ? task : 0; });
    });
}

}  // namespace djprobe::loader
