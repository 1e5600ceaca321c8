// SPDX-License-Identifier: GPL-2.0
// The plan's enums as words, as survey, explain and their JSON say them.
#pragma once

#include <cstdint>

#include "../../arch/x86/analysis/plan.h"
#include "djprobe.h"

namespace djprobe::loader {

constexpr const char* tactic_name(x86::Tactic tactic) {
    switch (tactic) {
        case x86::Tactic::Window:
            return "window";
        case x86::Tactic::Slide:
            return "slide";
        case x86::Tactic::Springboard:
            return "springboard";
    }
    return "unknown";
}

/// The local decision, as the module tells its own.
constexpr std::uint32_t verdict_of(const Refusal& refusal, const x86::Plan& plan) {
    if (refusal) return DJPROBE_VERDICT_REFUSED;
    return plan.may_jump() ? DJPROBE_VERDICT_JUMP : DJPROBE_VERDICT_INT3;
}

/// The module's may be newer than this loader.
constexpr const char* verdict_name(std::uint32_t verdict) {
    switch (verdict) {
        case DJPROBE_VERDICT_REFUSED:
            return "refused";
        case DJPROBE_VERDICT_INT3:
            return "int3";
        case DJPROBE_VERDICT_JUMP:
            return "jump";
    }
    return "unknown";
}

}  // namespace djprobe::loader
