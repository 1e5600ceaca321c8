// SPDX-License-Identifier: GPL-2.0
// The plan's enums as words, as survey, explain and their JSON say them.
#pragma once

#include "../../arch/x86/plan.h"

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

constexpr const char* verdict_name(const Refusal& refusal, const x86::Plan& plan) {
    return refusal ? "refused" : plan.may_jump() ? "jump" : "int3";
}

}  // namespace djprobe::loader
