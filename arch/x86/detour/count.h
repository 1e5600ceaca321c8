// SPDX-License-Identifier: GPL-2.0
// The shape without a call: a detour that counts its hits itself, or does more with counters.
#pragma once

#include "../analysis/liveness.h"
#include "action_writer.h"

namespace djprobe::x86 {

/// One counter on one site, and what it takes to reach it.
struct CountConfig {
    i64 counter = 0;       ///< a u64 per CPU, by its offset from %gs
    bool lahf = false;     ///< the CPU has lahf and sahf in 64-bit mode
    u64 return_thunk = 0;  ///< see Emitter::return_through()
    /// What is done with the counter and those behind it; none: it is incremented.
    Span<const Action> actions = {};
    TaskLayout task = {};   ///< if an action asks for the task
    TimesTable times = {};  ///< if an action is a timer, which needs the task, too
    /// What others count at the site, which is done first. None of these has a timer, or others.
    Span<const CountConfig> first = {};
};

/// What the counting needs of the site's registers and flags, whether they are live or not.
Live read_by(const CountConfig& config);

/// Emit the increment or the actions, from the site's registers and flags to the same. It uses the
/// stack only for what must survive and has no dead register to go to.
class Count {
  public:
    Count(const CountConfig& config, const Live& live);

    void emit(Emitter& out);

    /// What actions rarely do. Behind emit().
    void emit_cold(Emitter& out) { timer_.write_cold(end_at_, out); }

    /// The parts of emit(), for conditions that something stands behind: save what is needed and do
    /// the actions; lead here where a condition did not hold; restore what was saved, or all of it
    /// but the flags. Between begin() and what restores there may be other instructions.
    void begin(Emitter& out);
    void bind_end(Emitter& out) const { out.bind(end_); }
    void restore(Emitter& out) const;
    void drop_flags(Emitter& out) const;
    bool saves_nothing() const { return !pushed_ && flags_ == Flags::Dead; }

    /// What emit() has written, as Emitter::size() counts: the actions, and what is behind them.
    size_t handler() const { return handler_; }
    size_t restore() const { return after_; }

  private:
    /// How the status flags survive the actions, each of which changes them.
    enum class Flags : u8 {
        Dead,   ///< they need not
        InRax,  ///< lahf, which popf takes many times longer than
        Pushed,
    };
    void choose_flags(const CountConfig& config, const Live& live);
    void choose_scratch(RegisterSet kept, RegisterSet live);
    void choose_base(RegisterSet dead);
    void save_flags(Emitter& out) const;
    void restore_flags(Emitter& out) const;

    Span<const Action> actions_;
    ActionPlace place_;
    ActionRegisters registers_;
    CounterBase base_;
    size_t scratches_ = 0;
    size_t far_ = 0;         ///< how many actions go to far counters
    RegisterSet taken_ = 0;  ///< by an extreme rax, by a timer also rdx
    Flags flags_ = Flags::Dead;
    RegisterSet pushed_ = 0;  ///< what is live of the registers that change
    Label end_;               ///< where a condition does not hold
    TimerWriter timer_;
    u64 end_at_ = 0;  ///< of the list, where it will run
    size_t handler_ = 0, after_ = 0;
};

/// Emit one after the other, in front of what needs `read`; none has a timer. Returns where the
/// first counts, as Emitter::size() does.
size_t emit_counts(Span<const CountConfig> counts, const Live& live, const Live& read,
                   Emitter& out);

}  // namespace djprobe::x86
