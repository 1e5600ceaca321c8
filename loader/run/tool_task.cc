// SPDX-License-Identifier: GPL-2.0
#include "run/tool_task.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "run/task_number.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kEvent = "anon_inode:[djprobe-event]";
constexpr std::size_t kPage = 4096;
// Since Linux 6.9: pidfd_open() of one thread, whose descriptors need not be its process's.
constexpr unsigned kOfThread = O_EXCL;

std::string link_of(const std::string& path) {
    std::array<char, 64> to{};
    const ssize_t length = readlink(path.c_str(), to.data(), to.size());
    return {to.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

template <class Number>
Number number_of(const std::string& text, int base) {
    Number number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number, base);
    return number;
}

int perf_event_paranoid() {
    int paranoid = 0;
    std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
    return paranoid;
}

UniqueFd open_pidfd(pid_t task, unsigned flags) {
    return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, task, flags)));
}

// A thread may have a table of descriptors of its own, and outlive its process's first thread,
// which then has none.
bool shares_descriptors(pid_t one, pid_t other) {
    return one == other || syscall(SYS_kcmp, one, other, KCMP_FILES, 0, 0) == 0;
}

}  // namespace

std::string name_of_task(pid_t thread) {
    return field_of(fmt::format("/proc/{}/status", thread), "Name");
}

std::optional<ToolTask> ToolTask::of(pid_t thread) {
    const auto process =
        number_of<pid_t>(field_of(fmt::format("/proc/{}/status", thread), "Tgid"), 10);
    if (process == 0) return std::nullopt;
    UniqueFd pidfd = open_pidfd(thread, kOfThread);
    bool reached = true;
    if (!pidfd && errno == EINVAL) {
        pidfd = open_pidfd(process, 0);
        reached = shares_descriptors(thread, process);
    }
    if (!pidfd && errno == ESRCH) return std::nullopt;
    if (!pidfd) throw std::system_error(errno, std::generic_category(), "pidfd_open");
    return ToolTask(thread, std::move(pidfd), reached);
}

bool ToolTask::may_probe() const {
    return rights().has(kToProbe);
}

bool ToolTask::may_open_events() const {
    return may_probe() && !is_refused_events();
}

// kernel.perf_event_paranoid above 2 is Debian's own: it leaves perf events to CAP_SYS_ADMIN.
bool ToolTask::is_refused_events() const {
    return !rights().has(Capability::kPerfmon) ||
           (perf_event_paranoid() > 2 && !rights().has(Capability::kSysAdmin));
}

bool ToolTask::may_see_addresses() const {
    return shows_addresses(rights(), kptr_restrict(), perf_event_paranoid());
}

Rights ToolTask::rights() const {
    Rights rights;
    if (link_of(fmt::format("/proc/{}/ns/user", thread_)) == link_of("/proc/self/ns/user"))
        rights.capabilities = number_of<std::uint64_t>(status_field("CapEff"), 16);
    return rights;
}

std::string ToolTask::status_field(const char* name) const {
    return field_of(fmt::format("/proc/{}/status", thread_), name);
}

bool ToolTask::read(std::uint64_t address, void* to, std::size_t size) const {
    const iovec here = {to, size};
    const iovec there = {reinterpret_cast<void*>(address), size};
    return process_vm_readv(thread_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

bool ToolTask::write(std::uint64_t address, const void* from, std::size_t size) const {
    const iovec here = {const_cast<void*>(from), size};
    const iovec there = {reinterpret_cast<void*>(address), size};
    return process_vm_writev(thread_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

bool ToolTask::lends_memory(std::uint64_t address) const {
    char byte = 0;
    return read(address, &byte, sizeof byte) || errno != EPERM;
}

std::optional<std::string> ToolTask::read_string(std::uint64_t address, std::size_t room) const {
    std::string text;
    while (text.size() < room) {
        // Not beyond the page: the next one may not be there.
        std::array<char, 256> part{};
        const std::size_t size =
            std::min({part.size(), room - text.size(), kPage - (address + text.size()) % kPage});
        if (!read(address + text.size(), part.data(), size)) return std::nullopt;
        const std::size_t length = strnlen(part.data(), size);
        text.append(part.data(), length);
        if (length < size) return text;
    }
    return std::nullopt;
}

std::optional<std::vector<std::uint64_t>> ToolTask::read_numbers(std::uint64_t address,
                                                                 std::size_t count) const {
    std::vector<std::uint64_t> numbers(count);
    if (!read(address, numbers.data(), count * sizeof numbers[0])) return std::nullopt;
    return numbers;
}

UniqueFd ToolTask::copy_fd(int number) const {
    return UniqueFd(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd_.get(), number, 0)));
}

bool ToolTask::has_event(int number) const {
    return link_of(fmt::format("/proc/{}/fd/{}", thread_, number)) == kEvent;
}

bool ToolTask::closes_on_exec(int number) const {
    const std::string flags = field_of(fmt::format("/proc/{}/fdinfo/{}", thread_, number), "flags");
    return (number_of<unsigned>(flags, 8) & O_CLOEXEC) != 0;
}

}  // namespace djprobe::loader
