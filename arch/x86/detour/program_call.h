// SPDX-License-Identifier: GPL-2.0
// The lean shape: a detour calls one BPF program itself and saves only what that may destroy.
#pragma once

#include "../analysis/liveness.h"
#include "frame.h"
#include "front.h"

namespace djprobe::x86 {

/// One program on one site, and what the guard around it needs. Per-CPU data are named by their
/// offsets from %gs; an offset of 0 stands for "there is none".
struct DirectConfig {
    /// u64 program(Frame*): keeps to the C convention, runs with preemption off. With
    /// `takes_argument` a function that gets `argument` as well.
    u64 program = 0;
    bool takes_argument = false;
    RegisterSet clobbers = kCallerSaved;  ///< what it may change; see insn/program.h
    /// What it may read of the frame, whose other fields hold anything. Empty: it does not look at
    /// its argument. With kAllFields it may hand the frame to others.
    FieldSet context = kAllFields;

    /// A thunk that is called instead, under the same conditions, when another program is active on
    /// this CPU or statistics are on. rax holds `argument`, rdi what the program would get (without
    /// a context: anything). Keeps all other registers, for every slot what it need not do itself.
    u64 slow = 0;
    u64 argument = 0;
    i32 active = 0;                   ///< u32: above 0 while a BPF program runs; must be there
    i8 mark = 1;                      ///< what is added to it meanwhile: tells ours from others'
    i32 preempt_count = 0;            ///< u32: its last decrement gives 0 when a reschedule is due
    bool wide_preempt_count = false;  ///< it is a u64
    i64 hits = 0;                     ///< u64: counts
    u64 stats = 0;    ///< address of a u32: above 0 while statistics are on; 0: there is none
    u64 resched = 0;  ///< a thunk that a due reschedule calls, keeps registers; 0: none

    u16 cs = 0;  ///< Frame::cs, a constant of the environment
    u16 ss = 0;
    bool smap = false;     ///< the CPU has clac
    u64 return_thunk = 0;  ///< see Emitter::return_through()
    FrontConfig front = {};
    /// What is counted before that, whatever becomes of the call; see CountConfig::first.
    Span<const CountConfig> first = {};
};

/// Emit the call, from the site's registers to the site's registers, and what belongs to it but
/// runs rarely, which is to be placed behind all else.
class ProgramCall {
  public:
    ProgramCall(const DirectConfig& config, const Live& live, u64 site);

    void emit(Emitter& out);
    void emit_cold(Emitter& out);
    /// What emit() has written, as Emitter::size() counts: the instruction that calls the program,
    /// or the first one that counts before it, and the one behind the call.
    size_t handler() const { return handler_; }
    size_t restore() const { return after_; }

  private:
    bool saves_flags() const { return live_.flags || live_.system_flags; }
    void save(Emitter& out) const;
    void restore(Emitter& out) const;
    void guard(Emitter& out);

    const DirectConfig& config_;
    const Live& live_;
    Front front_;
    FrameConstants constants_;
    RegisterSet changed_;  ///< on the hot path, whatever is live
    RegisterSet framed_;   ///< what of it is live: kept in the frame
    RegisterSet pushed_;   ///< and the rest of it, pushed
    Label slow_, resched_;
    u64 join_ = 0, restore_ = 0;
    size_t handler_ = 0, after_ = 0;
};

}  // namespace djprobe::x86
