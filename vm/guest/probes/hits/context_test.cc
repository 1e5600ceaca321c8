// SPDX-License-Identifier: GPL-2.0
// Functions that run in interrupts, with locks of the scheduler held, and around idle.
#include <unistd.h>

#include <cstdio>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

class Context : public ProbeTest {};

// Some have other names in other kernels; the list has more than one for each context.
constexpr const char* kFunctions[] = {
    "hrtimer_interrupt",
    "update_process_times",
    "rcu_sched_clock_irq",
    "scheduler_tick",
    "sched_tick",
    "run_timer_softirq",
    "handle_softirqs",
    "__do_softirq",
    "net_rx_action",
    "menu_select",
    "tick_nohz_idle_enter",
    "tick_nohz_idle_exit",
    "try_to_wake_up",
    "schedule",
    "__schedule",
    "finish_task_switch.isra.0",
    "_raw_spin_lock",
    "_raw_spin_unlock_irqrestore",
    "ktime_get",
    "__handle_irq_event_percpu",
    "handle_edge_irq",
    "enqueue_task_fair",
    "dequeue_task_fair",
    "update_curr",
    "mutex_lock",
    "kmem_cache_alloc",
    "text_poke",
    "synchronize_rcu_tasks",
    "asm_sysvec_apic_timer_interrupt",
    "sysvec_apic_timer_interrupt",
    "generic_smp_call_function_single_interrupt",
    "wake_up_process",
    "hrtimer_wakeup",
    "copy_from_kernel_nofault",
    "queued_spin_lock_slowpath",
    "native_queued_spin_lock_slowpath",
    "exc_page_fault",
    "handle_mm_fault",
    "do_user_addr_fault",
};

TEST_F(Context, OddPlacesUnderLoad) {
    for (const djprobe_mode mode : kBothModes) {
        std::vector<Probe> probes;
        for (const char* symbol : kFunctions) {
            Answer answer = device_.attach(at(symbol, 0, mode));
            // Absent here, or refused with a reason: either is fine, a hang is not.
            EXPECT_EQ(answer.error == 0, static_cast<bool>(answer.probe)) << symbol;
            if (answer.probe) probes.push_back(std::move(answer.probe));
        }
        EXPECT_GT(probes.size(), 15u);
        Load load(4);
        unsigned jumps = 0;
        for (const Probe& probe : probes)
            jumps += probe.settle().mechanism == DJPROBE_MECHANISM_JUMP;
        EXPECT_GE(jumps, mode == DJPROBE_MODE_AUTO ? 10u : 0u);
        sleep(2);
        load.stop();
        EXPECT_EQ(load.wrong(), 0u);
        unsigned hit = 0;
        for (const Probe& probe : probes)
            hit += probe.hits() > 0;
        std::printf("mode %d: %zu sites, %u by jump, %u hit\n", mode, probes.size(), jumps, hit);
        EXPECT_GT(hit, 10u);
    }
}

// Lockdep takes an int3 for an NMI, where no lock of other contexts may be taken. The kernel's hash
// maps do take theirs (and count who is inside, so that nothing can hang), from the kernel's own
// kprobes as well.
const char* nesting_program() {
    return access("/proc/lockdep", F_OK) ? "nest" : "nest_without_hash";
}

// The same with a handler that does things, locks and wakes up readers among them.
TEST_F(Context, HandlersThatUseMapsThere) {
    for (const djprobe_mode mode : kBothModes) {
        const Object nest("nest");
        std::vector<Probe> probes;
        for (const char* symbol : kFunctions) {
            Request request = at(symbol, 0, mode);
            request.prog_fd = nest.program(nesting_program());
            Answer answer = device_.attach(request);
            if (!answer.error) probes.push_back(std::move(answer.probe));
        }
        Load load(4);
        sleep(2);
        load.stop();
        EXPECT_EQ(load.wrong(), 0u);
        EXPECT_GT(nest.sum("runs", 0), 100u);
    }
}

}  // namespace
}  // namespace djprobe::vm
