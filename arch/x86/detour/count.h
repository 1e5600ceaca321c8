// SPDX-License-Identifier: GPL-2.0
// The shape without a call: a detour that counts its hits itself.
#pragma once

#include "../analysis/liveness.h"
#include "emit.h"

namespace djprobe::x86 {

/// One counter on one site, and what it takes to reach it.
struct CountConfig {
    i64 counter = 0;       ///< a u64 per CPU, by its offset from %gs
    bool lahf = false;     ///< the CPU has lahf and sahf in 64-bit mode
    u64 return_thunk = 0;  ///< see Emitter::return_through()
};

/// `incq %gs:counter`, in any context and exact: the increment is one instruction, which no
/// interrupt, NMI or preemption can split, on a word of this CPU's own, which no other CPU writes;
/// and one instruction finds that word, so that a migration in front of it or behind it changes
/// nothing. It needs no lock prefix. `address` is a register for a counter that is too far from %gs
/// for a displacement; it changes then.
void increment_per_cpu(i64 counter, u8 address, Emitter& out);

/// Emit the increment, from the site's registers and flags to the same. It uses the stack only for
/// what must survive and has no dead register to go to.
class Count {
  public:
    Count(const CountConfig& config, const Live& live);

    void emit(Emitter& out);
    /// What emit() has written, as Emitter::size() counts: the increment, and what is behind it.
    size_t handler() const { return handler_; }
    size_t restore() const { return after_; }

  private:
    /// How the status flags survive the increment.
    enum class Flags : u8 {
        Dead,   ///< they need not
        InRax,  ///< lahf, which popf takes many times longer than
        Pushed,
    };
    static Flags choose_flags(const CountConfig& config, const Live& live);
    void save_flags(Emitter& out) const;
    void restore_flags(Emitter& out) const;

    i64 counter_;
    Flags flags_;
    u8 address_;          ///< the register for the counter's address, if it needs one
    RegisterSet pushed_;  ///< what is live of the registers that change
    size_t handler_ = 0, after_ = 0;
};

}  // namespace djprobe::x86
