// SPDX-License-Identifier: GPL-2.0
// Refusals as values: every "no" of the analysis has a name, a sentence and its evidence.
#pragma once

#include "../../../uapi/djprobe_reason.h"
#include "types.h"

namespace djprobe {

/// The vocabulary of uapi/djprobe_reason.h as a scoped type.
enum class Reason : u32 {
#define DJPROBE_REASON_SCOPED(number, NAME, name, text, detail) NAME = number,
    DJPROBE_REASONS(DJPROBE_REASON_SCOPED)
#undef DJPROBE_REASON_SCOPED
};

/// A reason with its evidence; what detail[] holds stands beside each reason in uapi.
/// NONE is "no objection": a Refusal is data, not an error.
struct [[nodiscard]] Refusal {
    Reason reason = Reason::NONE;
    u64 detail[2] = {0, 0};

    constexpr Refusal() = default;
    constexpr explicit Refusal(Reason why, u64 first = 0, u64 second = 0)
        : reason(why), detail{first, second} {}
    constexpr explicit operator bool() const { return reason != Reason::NONE; }
};

/// Short kebab-case name, as in listings and JSON; "unknown" for a number that is no reason.
constexpr const char* reason_name(Reason reason) {
    switch (reason) {
#define DJPROBE_REASON_NAME(number, NAME, name, text, detail) \
    case Reason::NAME:                                        \
        return name;
        DJPROBE_REASONS(DJPROBE_REASON_NAME)
#undef DJPROBE_REASON_NAME
    }
    return "unknown";
}

/// The end of the sentence "SITE: ...".
constexpr const char* reason_text(Reason reason) {
    switch (reason) {
#define DJPROBE_REASON_TEXT(number, NAME, name, text, detail) \
    case Reason::NAME:                                        \
        return text;
        DJPROBE_REASONS(DJPROBE_REASON_TEXT)
#undef DJPROBE_REASON_TEXT
    }
    return "unknown reason";
}

}  // namespace djprobe
