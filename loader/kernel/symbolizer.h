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
    explicit Symbolizer(Kallsyms kallsyms) : kallsyms_(std::move(kallsyms)) {}

    /// Empty when /proc/kallsyms cannot be read: names are a comfort, not a need.
    const Kallsyms& kallsyms();
    std::string describe(std::uint64_t address) { return kallsyms().describe(address); }

  private:
    std::optional<Kallsyms> kallsyms_;
};

}  // namespace djprobe::loader
