// SPDX-License-Identifier: GPL-2.0
// Where probes can be when an instruction takes none: at others that run exactly as often.
#pragma once

#include <cstdint>
#include <vector>

#include "../../arch/x86/insn/effects.h"
#include "survey/text_map.h"

namespace djprobe::loader {

struct StandIn {
    std::uint64_t address;
    /// What the instructions from there on change before the one that is meant. Behind an
    /// instruction that changes nothing: nothing.
    x86::RegisterSet writes = 0;
    bool writes_memory = false;
    bool by_jump = false;
};

/// Each time that control comes to `site` it comes to exactly one of them, and to none of them
/// otherwise. Behind an endbr64, ftrace's call and a jump label, which change nothing; else before
/// the instruction, where all that lies between goes straight on. Empty: there are none.
std::vector<StandIn> stand_ins(const TextMap& map, std::size_t function, std::uint64_t site);

}  // namespace djprobe::loader
