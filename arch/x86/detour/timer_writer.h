// SPDX-License-Identifier: GPL-2.0
// The instructions of the actions TIME and ELAPSED.
#pragma once

#include "action.h"
#include "counter_operand.h"

namespace djprobe::x86 {

/// Where the fields of the task that runs lie.
struct TaskLayout {
    i32 current = 0;  ///< the task's address, by its offset from %gs
    u32 fields[DJPROBE_TASK_FIELDS] = {};
};

/// Where the times of tasks are; see DJPROBE_TIMES_HEAD.
struct TimesTable {
    u64 entries = 0;  ///< the address of the first one; 0: there is none
    u32 mask = 0;     ///< 2^n - 1
    i32 cpu = 0;      ///< a CPU's own number, a u32, by its offset from %gs
};

struct TimerPlace {
    i64 counter = 0;  ///< the probe's, by its offset from %gs
    TaskLayout task = {};
    TimesTable times = {};
};

/// What a timer changes, beside rax and rdx.
struct TimerRegisters {
    u8 table = 0, index = 0;
    u8 found = 0;  ///< holds what ELAPSED has found; TIME leaves it alone
};

/// Writes one timer, as it is when all goes well, and later all else.
///
/// The slot is the task's own, and is reached by one xchg, which nothing can split: an interrupt or
/// an NMI that comes to a timer of the same task comes before it or after it, so that the times are
/// stored and taken in one order, and each is taken once. A time is read before it is stored, and
/// the other one after the first was taken: whatever comes in between makes an elapsed time longer,
/// as it would at any other place between the two, and never negative. The task may move to another
/// CPU between any two instructions: task, number and slot are its own wherever it runs, and each
/// counter is that of the CPU that increments it. An idle task does not move, so its CPU's number
/// stays what it was. What the table holds is anybody's: an index is masked with a constant, so
/// that it leads into the table whatever is read there.
class TimerWriter {
  public:
    TimerWriter() = default;
    TimerWriter(const TimerPlace& place, const TimerRegisters& registers)
        : place_(place), registers_(registers) {}

    void write(const Action& action, const CounterBase& base, Emitter& out);
    /// Behind all else, if there was a timer. The list's `end` lies before.
    void write_cold(u64 end, Emitter& out);

  private:
    void find_slot();
    void time(CounterBase base);
    void elapsed();
    void read_clock();
    void convert();
    void scale_index(u32 mask);
    void slot_operand(u8 reg);
    void count(u32 which);
    void write_no_place(u64 end);
    void write_idle(u64 end);
    void end_if_off(Label& end);

    TimerPlace place_;
    TimerRegisters registers_;
    Emitter* out_ = nullptr;
    const Action* action_ = nullptr;  ///< the list's timer
    u64 slot_known_ = 0, resumed_ = 0;
    Label no_part_, marked_, other_, back_;
};

}  // namespace djprobe::x86
