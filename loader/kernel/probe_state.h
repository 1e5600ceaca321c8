// SPDX-License-Identifier: GPL-2.0
// What the module tells of a probe, as the loader keeps it.
#pragma once

#include <cstdint>
#include <string>

#include "djprobe.h"

namespace djprobe::loader {

/// A struct djprobe_query, field by field. There may be hundreds of thousands: the names, which
/// take 576 bytes there, have their own lengths.
struct ProbeState {
    std::uint32_t state = 0;          ///< enum djprobe_state of the site
    std::uint32_t mechanism = 0;      ///< enum djprobe_mechanism
    std::uint32_t reason = 0;         ///< enum djprobe_reason; why not a jump, or NONE
    std::uint32_t tactic = 0;         ///< enum djprobe_tactic
    std::uint32_t displaced_len = 0;  ///< bytes of the DCR (jump) or of one instruction (int3)
    std::uint32_t flags = 0;          ///< enum djprobe_attach_flags
    std::uint64_t detail[2] = {};     ///< see djprobe_reason.h
    std::uint64_t address = 0;        ///< the IA
    std::uint64_t offset = 0;         ///< IA - start of `symbol`
    std::uint64_t cookie = 0;
    std::uint64_t hits = 0;
    __u64 missed[DJPROBE_MISS_MAX] = {};  ///< by enum djprobe_miss
    std::uint64_t anchor = 0;             ///< where the DCR begins
    std::uint8_t displaced[32] = {};      ///< the original bytes from there on
    std::string symbol;                   ///< "": not asked for, or gone
    std::string module;                   ///< "" for the kernel itself
};

}  // namespace djprobe::loader
