// SPDX-License-Identifier: GPL-2.0
// How GoogleTest shows the analysis' values when an expectation fails.
#pragma once

#include <ostream>

#include "arch/x86/analysis/plan.h"

namespace djprobe {

inline void PrintTo(Reason reason, std::ostream* out) {
    *out << reason_name(reason);
}

inline void PrintTo(const Refusal& refusal, std::ostream* out) {
    *out << reason_name(refusal.reason) << std::hex << "(0x" << refusal.detail[0] << ", 0x"
         << refusal.detail[1] << ")" << std::dec;
}

inline bool operator==(const Refusal& a, const Refusal& b) {
    return a.reason == b.reason && a.detail[0] == b.detail[0] && a.detail[1] == b.detail[1];
}

namespace x86 {

inline void PrintTo(Kind kind, std::ostream* out) {
    static constexpr const char* kNames[] = {
        "Plain",           "Nop",          "Jump",        "CondJump", "CounterJump", "Call",
        "IndirectJump",    "IndirectCall", "Return",      "Int3",     "Trap",        "Endbr",
        "InterruptShadow", "SystemFlow",   "Transaction",
    };
    *out << kNames[static_cast<size_t>(kind)];
}

}  // namespace x86
}  // namespace djprobe
