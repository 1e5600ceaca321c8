// SPDX-License-Identifier: GPL-2.0
// Names for kernel addresses, read only when the first one is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "kernel/kallsyms.h"

namespace djprobe::loader {

/// Attaching needs no symbol table: /proc/kallsyms (10 MB) is read when a message wants a name.
class Symbolizer {
  public:
    Symbolizer() = default;
    /// Those of another kernel, or of a test; `kernel` is for messages.
    explicit Symbolizer(Kallsyms kallsyms, std::string kernel = "the running kernel")
        : kallsyms_(std::move(kallsyms)), kernel_(std::move(kernel)) {}

    /// Empty when /proc/kallsyms cannot be read: names are a comfort, not a need.
    const Kallsyms& kallsyms();
    std::string describe(std::uint64_t address) { return kallsyms().describe(address); }
    [[nodiscard]] const std::string& kernel() const noexcept { return kernel_; }

  private:
    std::optional<Kallsyms> kallsyms_;
    std::string kernel_ = "the running kernel";
};

}  // namespace djprobe::loader
