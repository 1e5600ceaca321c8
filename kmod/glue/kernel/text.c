// SPDX-License-Identifier: GPL-2.0
/* Writing kernel text and waiting for it. */
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rcupdate_wait.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <asm/sync_core.h>
#include <asm/text-patching.h>

#include "imports.h"
#include "../kernel.h"
#include "ksym.h"

static struct mutex *text_mutex(void)
{
	return (struct mutex *)djk_imports.text_mutex;
}

/*
 * After the kernel has prepared a kprobe it writes the int3 without another look at the text: soon,
 * or when a kprobe that was registered as disabled is enabled. It would overwrite what we wrote
 * meanwhile.
 */
static struct mutex *kprobe_mutex(void)
{
	return (struct mutex *)djk_imports.kprobe_mutex;
}

/*
 * A CPU that comes online or goes offline runs text, but no core sync reaches it: it could stand in
 * the handler of an int3 that is being taken away, or in a detour. cpus_read_lock() keeps CPUs as
 * they are. The order of the locks is that of kprobe_optimizer().
 */
void djk_text_lock(void)
{
	mutex_lock(kprobe_mutex());
	cpus_read_lock();
	mutex_lock(text_mutex());
}

void djk_text_unlock(void)
{
	mutex_unlock(text_mutex());
	cpus_read_unlock();
	mutex_unlock(kprobe_mutex());
}

/*
 * A decoder of the CPU's trace needs each event on the safe side of its write: it recognizes an
 * int3 that has run, but not the bytes that the int3 has replaced, or that will replace it. The
 * order is that of arch_arm_kprobe() and arch_disarm_kprobe().
 */
void djk_text_write(unsigned long address, const void *bytes, size_t size)
{
	const bool is_trap = *(const u8 *)bytes == INT3_INSN_OPCODE;
	const bool tell = djk_tells_pokes();
	u8 old[DJK_POKED_BYTES];
	/* The old bytes of a slot are of no use. */
	const bool known = tell && size <= sizeof(old) && djk_read(old, address, size);
	const size_t old_size = known ? size : 0;

	if (tell && !is_trap)
		djk_tell_poke(address, old, old_size, bytes, size);
	djk_call3(text_poke, address, bytes, size);
	if (tell && is_trap)
		djk_tell_poke(address, old, old_size, bytes, size);
	/* A request may make tens of thousands of writes in a row. */
	cond_resched();
}

static void serialize_core(void *unused)
{
	sync_core();
}

/* As text_poke_sync() does, which is not exported. */
void djk_text_sync(void)
{
	/*
	 * An int3 handler runs with interrupts off: when every CPU has answered, no CPU is still in
	 * a handler that it entered before the call.
	 */
	on_each_cpu(serialize_core, NULL, 1);
}

void djk_quiesce(void)
{
	/*
	 * RCU tasks wait for tasks that were preempted in text or in a detour, RCU for interrupts
	 * and NMI-like contexts on idle CPUs. A context stays one of these until it leaves the
	 * text, so both waits may pass at the same time. RCU tasks come first in the list, because
	 * the wait ends in that order: they begin with a grace period of RCU, and a task that the
	 * same grace period has woken up is one that runs, for which they would wait a tenth of a
	 * second.
	 */
#if defined(DJK_IDLE_IS_TEXT) && IS_ENABLED(CONFIG_TASKS_RUDE_RCU)
	/* The idle loops of this kernel call ordinary functions while RCU is not watching. A task
	 * switch on every CPU ends these, too. */
	synchronize_rcu_mult(call_rcu_tasks, call_rcu_tasks_rude, DJK_CALL_RCU);
#else
	synchronize_rcu_mult(call_rcu_tasks, DJK_CALL_RCU);
#endif
}

bool djk_read(void *to, unsigned long address, size_t size)
{
	return !copy_from_kernel_nofault(to, (const void *)address, size);
}
