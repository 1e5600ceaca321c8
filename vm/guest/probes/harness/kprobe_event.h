// SPDX-License-Identifier: GPL-2.0
// Kprobes of the kernel's own, as tracefs gives them to users: many, disabled or not, at one place
// or at several.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace djprobe::vm {

/// One event of tracefs' kprobe_events. It has any number of kprobes, which are enabled together.
class KprobeEvent {
  public:
    /// No two that live have the same name.
    explicit KprobeEvent(std::string name) : name_(std::move(name)) {}
    KprobeEvent(KprobeEvent&& other) noexcept;
    KprobeEvent& operator=(KprobeEvent&&) = delete;
    /// Disables and removes them.
    ~KprobeEvent();

    /// 0, or the errno with which the kernel refuses..
    int add(uint64_t address);
    /// 0, or the errno with which the kernel refuses.
    int enable(bool on);

    const std::string& name() const { return name_; }
    const std::vector<uint64_t>& addresses() const { return addresses_; }

    struct Counts {
        uint64_t hits = 0, missed = 0;
    };
    /// All of its kprobes together.
    Counts counts() const;

    /// Removes every event of tracefs', also those that a killed process has left.
    static void remove_all();

  private:
    std::string name_;
    std::vector<uint64_t> addresses_;
    bool enabled_ = false;
};

/// Where the kernel's kprobes are, or are about to become, jumps.
std::set<uint64_t> optimized_kprobes();
/// Where the kernel's kprobes are on calls of ftrace's.
std::set<uint64_t> kprobes_on_calls();

}  // namespace djprobe::vm
