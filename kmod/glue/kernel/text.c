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
 * Between preparing a kprobe and writing its int3 (for one that is registered disabled, until it is
 * enabled) the kernel does not look at the text again: what we wrote meanwhile it would overwrite.
 */
static struct mutex *kprobe_mutex(void)
{
	return (struct mutex *)djk_imports.kprobe_mutex;
}

/*
 * A CPU that comes or goes is not online, but runs text: it may stand in the handler of an int3
 * that is being taken away, or in a detour, and no core sync reaches it. While CPUs stay as they
 * are there is none. The order is that of the kernel's kprobes.
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
 * Who decodes a trace of the CPU's needs each event on the safe side of its write: he recognizes an
 * int3 that was run, but not what it has replaced, or will be replaced by.
 */
void djk_text_write(unsigned long address, const void *bytes, size_t size)
{
	const bool is_trap = *(const u8 *)bytes == INT3_INSN_OPCODE;
	const bool tell = djk_tells_pokes();
	u8 old[DJK_POKED_BYTES];
	/* What a detour replaces is of no use. */
	const bool known = tell && size <= sizeof(old) && djk_read(old, address, size);
	const size_t old_size = known ? size : 0;

	if (tell && !is_trap)
		djk_tell_poke(address, old, old_size, bytes, size);
	djk_call3(text_poke, address, bytes, size);
	if (tell && is_trap)
		djk_tell_poke(address, old, old_size, bytes, size);
	/* There may be tens of thousands in a row. */
	cond_resched();
}

static void serialize_core(void *unused)
{
	sync_core();
}

void djk_text_sync(void)
{
	/*
	 * An int3 handler runs with interrupts off: when every CPU has answered,
	 * none is still in a handler that it entered before the call.
	 */
	on_each_cpu(serialize_core, NULL, 1);
}

void djk_quiesce(void)
{
	/*
	 * Tasks preempted in text or in a detour, and interrupts and NMI-like contexts on idle
	 * CPUs: whoever is there is there as one of them until he leaves, so both may pass at the
	 * same time. Tasks first, which is what is waited for first: RCU tasks begin with a grace
	 * period of RCU, and whoever wakes up from the same one is a task that runs, for which they
	 * wait a tenth of a second.
	 */
#if defined(DJK_IDLE_IS_TEXT) && IS_ENABLED(CONFIG_TASKS_RUDE_RCU)
	/* Idle loops here call ordinary functions while RCU is not watching: a switch on every CPU
	 * ends those, too. */
	synchronize_rcu_mult(call_rcu_tasks, call_rcu_tasks_rude, DJK_CALL_RCU);
#else
	synchronize_rcu_mult(call_rcu_tasks, DJK_CALL_RCU);
#endif
}

bool djk_read(void *to, unsigned long address, size_t size)
{
	return !copy_from_kernel_nofault(to, (const void *)address, size);
}
