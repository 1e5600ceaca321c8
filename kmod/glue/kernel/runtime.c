// SPDX-License-Identifier: GPL-2.0
/* Locks, the optimizer's worker, and modules that unload. */
#include "runtime.h"

#include <linux/kallsyms.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../kernel.h"
#include "module_text.h"

/* ---- Locks ---- */

static DEFINE_MUTEX(registry_mutex);

static struct workqueue_struct *optimizer_queue;
/* Under the registry lock. The worker could do nothing before that is free. */
static bool optimizer_wanted;

static void run_optimizer(struct work_struct *work)
{
	djp_optimizer_run();
}
static DECLARE_DELAYED_WORK(optimizer, run_optimizer);

void djk_registry_lock(void)
{
	mutex_lock(&registry_mutex);
}

void djk_registry_unlock(void)
{
	const bool kick = optimizer_wanted;

	optimizer_wanted = false;
	mutex_unlock(&registry_mutex);
	if (kick)
		mod_delayed_work(optimizer_queue, &optimizer, 0);
}

/*
 * A portion should take less than this. A task that sleeps in it, or is preempted, takes longer:
 * its next portions are smaller for no good reason, and grow again.
 */
#define PORTION_NS (4 * NSEC_PER_MSEC)
#define FIRST_PORTION 8
#define SMALLEST_PORTION 4
#define LARGEST_PORTION 512

void djk_portion_begin(struct djk_portion *portion)
{
	portion->size = FIRST_PORTION;
	portion->begun = ktime_get_ns();
}

void djk_registry_pause(struct djk_portion *portion)
{
	const u64 taken = ktime_get_ns() - portion->begun;

	if (taken > PORTION_NS)
		portion->size = max_t(unsigned int, portion->size / 2, SMALLEST_PORTION);
	else if (taken < PORTION_NS / 4)
		portion->size = min_t(unsigned int, portion->size * 2, LARGEST_PORTION);
	/* A task that wakes up and finds the lock taken again gets it at the next unlock: no task
	 * waits for more than two portions of another. */
	djk_registry_unlock();
	/* A quiescence waits until each task leaves the CPU of its own will, which a long request
	 * would not do. */
	cond_resched_tasks_rcu_qs();
	djk_registry_lock();
	portion->begun = ktime_get_ns();
}

bool djk_is_dying(void)
{
	return fatal_signal_pending(current);
}

void djk_breathe(void)
{
	cond_resched();
}

void djk_warn(const char *what, unsigned long address)
{
	char *name = kmalloc(KSYM_NAME_LEN + MODULE_NAME_LEN, GFP_KERNEL);
	unsigned long offset = 0;

	/* Not %pS, which shows the address where there is no symbol: a reader of the log may not be
	 * allowed to see it. */
	if (name)
		djk_symbol_name(address, name, name + KSYM_NAME_LEN, &offset);
	pr_warn("%s+0x%lx: %s\n", name && *name ? name : "?", offset, what);
	kfree(name);
}

/* ---- The optimizer's worker ---- */

static DECLARE_WAIT_QUEUE_HEAD(settled);

void djk_optimizer_kick(void)
{
	lockdep_assert_held(&registry_mutex);
	optimizer_wanted = true;
}

void djk_optimizer_kick_later(void)
{
	queue_delayed_work(optimizer_queue, &optimizer, HZ);
}

void djk_optimizer_done(void)
{
	wake_up_all(&settled);
}

static bool is_settled(const struct djp_probe *probe)
{
	bool settled;

	rcu_read_lock();
	settled = djp_is_settled(probe);
	rcu_read_unlock();
	return settled;
}

int djk_wait_settled(const struct djp_probe *probe)
{
	return wait_event_interruptible(settled, is_settled(probe));
}

/* ---- Probes that count once ---- */

static void end_once(struct work_struct *work)
{
	if (djp_end_once())
		djk_watch_once();
}
static DECLARE_DELAYED_WORK(once_watch, end_once);

void djk_watch_once(void)
{
	queue_delayed_work(optimizer_queue, &once_watch, HZ / 5);
}

/* ---- Kprobes that come after our detours ---- */

static void keep_for_kprobes(struct work_struct *work);
static DECLARE_DELAYED_WORK(kprobe_watch, keep_for_kprobes);
/* Under djk_text_lock(). The kernel registers kprobes also before the queue is there, and after. */
static bool watches_kprobes;

static void set_watches_kprobes(bool on)
{
	djk_text_lock();
	watches_kprobes = on;
	djk_text_unlock();
}

/* Tools register many in a row: one run of the worker serves those of some milliseconds. */
void djk_watch_kprobes(void)
{
	if (watches_kprobes)
		queue_delayed_work(optimizer_queue, &kprobe_watch, HZ / 50);
}

static void keep_for_kprobes(struct work_struct *work)
{
	/* Memory is short: there may be more later. */
	if (djp_keep_for_kprobes())
		queue_delayed_work(optimizer_queue, &kprobe_watch, HZ);
}

/* ---- Modules ---- */

void djk_keep_module(void)
{
	/* A task that closes a probe fd calls this, and the fd holds a reference. */
	__module_get(THIS_MODULE);
}

void djk_release_module(void)
{
	module_put(THIS_MODULE);
}

static int on_module(struct notifier_block *block, unsigned long event, void *data)
{
	const struct module *module = data;
	struct djk_extent text;

	/* The module's exit function has run. Its text is still mapped and may still run. */
	if (event == MODULE_STATE_GOING && module != THIS_MODULE) {
		text = djk_module_text(module);
		djp_module_gone(&text);
	}
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = {
	.notifier_call = on_module,
};

int djk_runtime_start(void)
{
	int error;

	optimizer_queue = alloc_ordered_workqueue("djprobe", 0);
	if (!optimizer_queue)
		return -ENOMEM;
	error = register_module_notifier(&module_notifier);
	if (error)
		destroy_workqueue(optimizer_queue);
	else
		set_watches_kprobes(true);
	return error;
}

void djk_runtime_stop(void)
{
	unregister_module_notifier(&module_notifier);
	set_watches_kprobes(false);
	cancel_delayed_work_sync(&kprobe_watch);
	cancel_delayed_work_sync(&once_watch);
	cancel_delayed_work_sync(&optimizer);
	destroy_workqueue(optimizer_queue);
}
