// SPDX-License-Identifier: GPL-2.0
// Bytes that djprobe's probes leave, for the kernel to put probes of its own there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/unique_fd.h"
#include "run/ledger.h"

namespace djprobe::loader {

/// The kernel has no kprobe on bytes of others, and two placements may share a jump: they leave the
/// text together, and come back together unless the kernel takes them all.
class Room {
  public:
    /// Takes the probes of these placements out of the text.
    Room(Ledger& ledger, std::vector<std::uint64_t> numbers);
    /// Puts those back that the kernel has not taken. Leaves errno as it is.
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    [[nodiscard]] bool empty() const noexcept { return numbers_.empty(); }
    /// Of all its placements.
    [[nodiscard]] std::size_t probes() const;
    /// Lets the kernel's own probes take the place of all of them, each to end with the tool's
    /// descriptor. All or none; false with errno.
    bool fill();
    /// After fill(): what the kernel has for a placement.
    [[nodiscard]] KernelProbe take(std::uint64_t number);

  private:
    bool place_all();

    Ledger& ledger_;
    std::vector<std::uint64_t> numbers_, out_;
    std::map<std::uint64_t, KernelProbe> theirs_;
};

}  // namespace djprobe::loader
