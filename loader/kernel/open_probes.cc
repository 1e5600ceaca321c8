// SPDX-License-Identifier: GPL-2.0
#include "kernel/open_probes.h"

#include <bpf/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>

#include "base/error.h"
#include "kernel/rights.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLink = "anon_inode:[djprobe]";
// What a tool has under `probeload run`: the tool owns the probes, though probeload has their fd.
constexpr std::string_view kEventLink = "anon_inode:[djprobe-event]";

[[noreturn]] void not_allowed(const fs::path& what, Capability capability) {
    fail(ExitCode::kNoPermission, "{}: {}: probes of another process: {}", what.string(),
         std::strerror(EPERM), why_denied({capability}));
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// Entries of a directory whose names are numbers, in order; none when it is gone.
std::vector<int> numbers_in(const fs::path& directory) {
    std::error_code error;
    std::vector<int> numbers;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error))
        if (const auto number = number_of<int>(entry->path().filename().string()))
            numbers.push_back(*number);
    // Its mode is 0500, and the user's that the process has.
    if (error == std::errc::permission_denied) not_allowed(directory, Capability::kDacReadSearch);
    std::ranges::sort(numbers);
    return numbers;
}

/// What is passed over makes the list wrong without a word. The link of a process that has ended is
/// denied, too, and then gone.
bool is_denied(const fs::path& link, std::error_code error) {
    std::error_code gone;
    return error == std::errc::permission_denied && fs::exists(fs::symlink_status(link, gone));
}

std::string line_of(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// False when the process has closed it in between: then the number is another file's, or free.
bool read_fdinfo(const fs::path& path, OpenProbe& file) {
    std::ifstream lines(path);
    std::string line;
    while (std::getline(lines, line)) {
        const std::size_t colon = line.find(":\t");
        if (colon == line.npos) continue;
        const std::string_view name = std::string_view(line).substr(0, colon);
        const auto value = number_of<std::uint64_t>(std::string_view(line).substr(colon + 2));
        if (!value) continue;
        if (name == "attachment") file.attachment = *value;
        if (name == "prog_id") file.program_id = static_cast<std::uint32_t>(*value);
        if (name == "map_id") file.map_id = static_cast<std::uint32_t>(*value);
        if (name == "entry_prog_id") file.entry_program_id = static_cast<std::uint32_t>(*value);
    }
    return file.attachment != 0;
}

template <class Info>
std::string name_by(const UniqueFd& object) {
    Info info = {};
    __u32 size = sizeof info;
    if (!object || bpf_obj_get_info_by_fd(object.get(), &info, &size) != 0) return "";
    return {info.name, strnlen(info.name, sizeof info.name)};
}

}  // namespace

std::vector<OpenProbe> find_open_probes(const fs::path& proc) {
    std::vector<OpenProbe> files, plain;
    std::set<std::uint64_t> known;
    for (const int pid : numbers_in(proc)) {
        const fs::path process = proc / std::to_string(pid);
        for (const int fd : numbers_in(process / "fd")) {
            std::error_code error;
            const fs::path link = process / "fd" / std::to_string(fd);
            const fs::path to = fs::read_symlink(link, error);
            if (is_denied(link, error)) not_allowed(link, Capability::kSysPtrace);
            if (error || (to != kLink && to != kEventLink)) continue;
            OpenProbe file{pid, fd, line_of(process / "comm"), 0, 0, 0};
            if (!read_fdinfo(process / "fdinfo" / std::to_string(fd), file)) continue;
            if (to == kLink)
                plain.push_back(std::move(file));
            else if (known.insert(file.attachment).second)
                files.push_back(std::move(file));
        }
    }
    for (OpenProbe& file : plain)
        if (known.insert(file.attachment).second) files.push_back(std::move(file));
    std::ranges::stable_sort(files, {}, &OpenProbe::pid);
    return files;
}

std::optional<Probe> borrow(const OpenProbe& file) {
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, file.pid, 0)));
    if (!process) return std::nullopt;
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), file.fd, 0)));
    if (!fd && errno == EPERM)
        not_allowed(fmt::format("process {}", file.pid), Capability::kSysPtrace);
    if (!fd) return std::nullopt;
    // The number may be another file's by now.
    OpenProbe now{file.pid, fd.get(), {}, 0, 0, 0};
    if (!read_fdinfo(fmt::format("/proc/self/fdinfo/{}", fd.get()), now) ||
        now.attachment != file.attachment)
        return std::nullopt;
    return Probe(std::move(fd));
}

std::string program_name(std::uint32_t id) {
    return name_by<bpf_prog_info>(UniqueFd(bpf_prog_get_fd_by_id(id)));
}

std::string map_name(std::uint32_t id) {
    return name_by<bpf_map_info>(UniqueFd(bpf_map_get_fd_by_id(id)));
}

}  // namespace djprobe::loader
