// SPDX-License-Identifier: GPL-2.0
// What the kernel's own kprobes would do at a site, by the rules of the kernel at hand. Written
// from arch/x86/kernel/kprobes/{core,opt}.c, as a yardstick: no decision of ours depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "survey/text_map.h"

namespace djprobe::loader {

/// The verdict with the rule that decided. The rules name the kernel's reasons, not ours.
struct MainlineVerdict {
    enum class Kind : std::uint8_t { Jump, Int3, Ftrace, Refused };
    Kind kind;
    const char* rule;
    std::uint64_t at = 0;  ///< the instruction that the rule is about, if it is about one
};

const char* mainline_name(MainlineVerdict::Kind kind);

class Mainline {
  public:
    /// The map must outlive it. It judges the sites for which the map answers.
    Mainline(const KernelImage& image, const TextMap& map);

    [[nodiscard]] MainlineVerdict judge(std::size_t function, std::uint64_t site) const;

  private:
    /// What mainline holds against every site of a function.
    struct Function {
        std::uint64_t fixup;          ///< an instruction with an exception-table entry, or 0
        std::uint64_t indirect_jump;  ///< or 0
    };

    [[nodiscard]] MainlineVerdict can_probe(std::size_t function, std::uint64_t site) const;
    [[nodiscard]] MainlineVerdict can_optimize(std::size_t function, std::uint64_t site) const;
    [[nodiscard]] MainlineVerdict can_copy(std::size_t function, std::uint64_t site) const;
    [[nodiscard]] bool is_reserved(Range range, djprobe::Reason& reason) const;

    const TextMap& map_;
    std::vector<Function> functions_;
    Range thunks_;          ///< from the first indirect thunk on, return thunks included
    bool checks_indirect_;  ///< before 6.6: also in kernels without jump tables
    bool copies_groups_;    ///< since 6.9: shifts, test, inc and the like
    Range entry_;
};

}  // namespace djprobe::loader
