// SPDX-License-Identifier: GPL-2.0
// The policy, which cannot include uapi/djprobe.h in the kernel, hands out that header's numbers.
#include "kmod/sites/site.h"
#include "uapi/djprobe.h"

namespace djprobe::kmod {
namespace {

template <class Number>
constexpr bool is(Number number, u32 abi) {
    return static_cast<u32>(number) == abi;
}

static_assert(is(State::Disarmed, DJPROBE_STATE_DISARMED));
static_assert(is(State::Armed, DJPROBE_STATE_ARMED));
static_assert(is(State::Optimizing, DJPROBE_STATE_OPTIMIZING));
static_assert(is(State::Optimized, DJPROBE_STATE_OPTIMIZED));
static_assert(is(State::Gone, DJPROBE_STATE_GONE));

static_assert(is(Mechanism::None, DJPROBE_MECHANISM_NONE));
static_assert(is(Mechanism::Int3, DJPROBE_MECHANISM_INT3));
static_assert(is(Mechanism::Jump, DJPROBE_MECHANISM_JUMP));

static_assert(is(Verdict::Refused, DJPROBE_VERDICT_REFUSED));
static_assert(is(Verdict::Int3, DJPROBE_VERDICT_INT3));
static_assert(is(Verdict::Jump, DJPROBE_VERDICT_JUMP));

static_assert(is(x86::Tactic::Window, DJPROBE_TACTIC_WINDOW));
static_assert(is(x86::Tactic::Slide, DJPROBE_TACTIC_SLIDE));
static_assert(is(x86::Tactic::Springboard, DJPROBE_TACTIC_SPRINGBOARD));

}  // namespace
}  // namespace djprobe::kmod
