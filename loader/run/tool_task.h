// SPDX-License-Identifier: GPL-2.0
// A process of the tool: its memory, its descriptors, its rights.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "kernel/rights.h"

namespace djprobe::loader {

/// "" where the thread has ended.
std::string name_of_task(pid_t thread);

class ToolTask {
  public:
    /// The process of a thread, or none where it has ended. Throws std::system_error where the
    /// kernel has no descriptor for it.
    static std::optional<ToolTask> of(pid_t thread);

    [[nodiscard]] pid_t thread() const noexcept { return thread_; }
    /// Whether the kernel would let it place a kprobe. probeload has all rights, and must lend it
    /// none.
    [[nodiscard]] bool may_probe() const;
    /// The same by a perf event, which Debian's kernel keeps from more tasks.
    [[nodiscard]] bool may_open_events() const;
    /// Whether the kernel refuses it each perf event of a kprobe. It does not where only CAP_BPF is
    /// missing, for the program.
    [[nodiscard]] bool is_refused_events() const;
    /// Whether the kernel would tell it where its functions are.
    [[nodiscard]] bool may_see_addresses() const;

    /// Copies of its memory; false or none where some of it is not there.
    bool read(std::uint64_t address, void* to, std::size_t size) const;
    bool write(std::uint64_t address, const void* from, std::size_t size) const;
    /// False: its memory is nothing for probeload to look at, whatever is at the address.
    [[nodiscard]] bool lends_memory(std::uint64_t address) const;
    /// Up to `room` bytes with the NUL; none for a longer one.
    [[nodiscard]] std::optional<std::string> read_string(std::uint64_t address,
                                                         std::size_t room) const;
    /// An array of 64-bit numbers.
    [[nodiscard]] std::optional<std::vector<std::uint64_t>> read_numbers(std::uint64_t address,
                                                                         std::size_t count) const;

    /// Whether its descriptors can be had: before Linux 6.9 only those that its process's first
    /// thread has, too.
    [[nodiscard]] bool lends_descriptors() const noexcept { return lends_descriptors_; }
    /// A copy of its descriptor, or none with errno.
    [[nodiscard]] UniqueFd copy_fd(int number) const;
    /// Whether its descriptor is an event fd of the module's.
    [[nodiscard]] bool has_event(int number) const;
    [[nodiscard]] bool closes_on_exec(int number) const;

  private:
    ToolTask(pid_t thread, UniqueFd pidfd, bool lends_descriptors)
        : thread_(thread), pidfd_(std::move(pidfd)), lends_descriptors_(lends_descriptors) {}
    [[nodiscard]] Rights rights() const;
    [[nodiscard]] std::string status_field(const char* name) const;

    pid_t thread_;
    UniqueFd pidfd_;
    bool lends_descriptors_;
};

}  // namespace djprobe::loader
