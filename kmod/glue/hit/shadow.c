// SPDX-License-Identifier: GPL-2.0
#include "shadow.h"

#ifdef CONFIG_RETHOOK

#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "../../api/djprobe_api.h"
#include "../kernel/imports.h"
#include "run.h"

/*
 * Some instances, which always belong to their rethook. A shadow grows by whole pools, because
 * newer kernels fix the number of instances when a rethook is made.
 */
struct pool {
	struct pool *next; /* older */
	struct rethook *rethook;
};

enum shadow_state {
	SHADOW_STOPPED,
	SHADOW_ASLEEP,	/* the machine goes to sleep: hits get no instance */
	SHADOW_RUNNING, /* hits look for instances */
};

struct djk_shadow {
	struct list_head in_all;
	struct djk_full_handler *handler;
	size_t data_size;   /* behind the node of each instance */
	unsigned int most;  /* instances */
	struct pool *pools; /* the newest first; hits read them without a lock */
	unsigned int size;  /* instances in all of them */
	u8 state;	    /* enum shadow_state */
	bool is_short;	    /* the newest pool was found empty */
};

/* The most instances for one function; each has some 64 bytes. */
#define MOST_INSTANCES (1u << 18)
/* One request may name all functions: what they begin with must not fill the memory. */
#define FIRST_INSTANCES_OF_ALL (1u << 16)
#define FIRST_INSTANCES_AT_LEAST 16u
/* One growth takes at most this part of what a request may take: not a user asks for it, but any
 * task that runs the probed function. */
#define GROWTH_SHARE 8

static unsigned int instances = 1024;
module_param(instances, uint, 0600);
MODULE_PARM_DESC(instances, "what a probe in shadow mode begins with; more are added on demand");

static struct {
	unsigned long trampoline, alloc, free, add_node, recycle;
	/* What the graph tracer puts in place of a return address, and later kernels' fprobes by
	 * it. 0: there is none. */
	unsigned long graph;
} rethook;

static LIST_HEAD(all_shadows);
static unsigned int sleeps; /* of the machine: prepared and not over; they may nest */
static DEFINE_MUTEX(all_mutex);

/* ---- At the entry ---- */

static bool begin_c_call(struct djk_full_handler *handler, struct pt_regs *regs, void *data)
{
	const unsigned long ip = regs->ip, sp = regs->sp;
	const bool wanted = !handler->c_return->entry_handler(handler->c_return, regs, data);

	regs->ip = ip;
	regs->sp = sp;
	return wanted;
}
NOKPROBE_SYMBOL(begin_c_call);

static bool begin_call(struct djk_full_handler *handler, struct pt_regs *regs, void *data)
{
	struct djk_session_call *const call = data;

	if (handler->c_return)
		return begin_c_call(handler, regs, data);
	call->cookie = djk_run_with_context(handler, true, regs);
	call->entered = ktime_get_mono_fast_ns();
	return call->cookie;
}
NOKPROBE_SYMBOL(begin_call);

/* Take an instance that this CPU has at hand, as rethook_try_get() does. Preemption is off. */
static __always_inline struct rethook_node *take_own(struct pool *pool)
{
#if defined(DJK_OBJPOOL_INLINE)
	/* objpool_pop() switches interrupts off. Only giving back needs that, taking does not. */
	return __objpool_try_get_slot(&pool->rethook->pool, raw_smp_processor_id());
#elif defined(DJK_RETHOOK_OBJPOOL)
	return objpool_pop(&pool->rethook->pool);
#else
	struct freelist_node *node = freelist_try_get(&pool->rethook->pool);

	return node ? container_of(node, struct rethook_node, freelist) : NULL;
#endif
}

static struct rethook_node *take(struct pool *pool)
{
#ifdef DJK_RETHOOK_OBJPOOL
	return objpool_pop(&pool->rethook->pool);
#else
	return take_own(pool);
#endif
}
NOKPROBE_SYMBOL(take);

/* As rethook_hook() and arch_rethook_prepare() do. */
static __always_inline void hook(struct rethook_node *node, unsigned long *return_address)
{
	node->ret_addr = *return_address;
	node->frame = (unsigned long)return_address;
	/* The list is this task's own, and an interrupt leaves it as it finds it. */
	__llist_add(&node->llist, &current->rethooks);
	/* An unwinder that meets the trampoline looks for the node. */
	barrier();
	*return_address = rethook.trampoline;
}

static void grow_all(struct work_struct *work);
static DECLARE_WORK(grower, grow_all);

static void kick_grower(struct irq_work *work)
{
	queue_work(system_highpri_wq, &grower);
}
/* A hit may come from within the scheduler or the workqueues, so it cannot queue work itself. */
static DEFINE_IRQ_WORK(grower_kick, kick_grower);

/* Take an instance that other CPUs have at hand, or one of the older pools, which are the reserve
 * while the grower makes more. */
static struct rethook_node *take_of_reserve(struct djk_shadow *shadow, struct pool *pool)
{
	struct rethook_node *node = take(pool);

	/* A CPU that goes offline may never run what it has queued last, and is_short would keep
	 * all others from asking: the next hit that misses on another CPU asks. */
	if (!node && !READ_ONCE(shadow->is_short) && cpu_online(raw_smp_processor_id())) {
		WRITE_ONCE(shadow->is_short, true);
		irq_work_queue(&grower_kick);
	}
	while (!node && (pool = pool->next))
		node = take(pool);
	return node;
}
NOKPROBE_SYMBOL(take_of_reserve);

/*
 * The graph tracer has the call's return. An unwinder asks the graph tracer for the true address
 * first, and then rethook: with ours on top of the graph tracer's it would find the latter, and
 * stop. A live patch would wait for the task as long as it is inside.
 */
static __always_inline bool is_graphed(const struct pt_regs *regs)
{
	return *(const unsigned long *)regs->sp == rethook.graph;
}

/* NULL: the shadow is stopped or asleep, no instance is left, the return is another tracer's, or
 * this is an NMI, in which the pools must not be used. */
static struct rethook_node *take_or_miss(struct djk_full_handler *handler,
					 const struct pt_regs *regs, bool allowed)
{
	struct djk_shadow *const shadow = handler->shadow;
	const u8 state = READ_ONCE(shadow->state);
	struct rethook_node *node = NULL;

	if (state == SHADOW_STOPPED)
		return NULL;
	if (allowed && state == SHADOW_RUNNING && !is_graphed(regs))
		node = take_of_reserve(shadow, smp_load_acquire(&shadow->pools));
	if (!node)
		this_cpu_inc(handler->counters->missed[allowed ? DJPROBE_MISS_NO_INSTANCE
							       : DJPROBE_MISS_NMI]);
	return node;
}
NOKPROBE_SYMBOL(take_or_miss);

/* The rare cases of enter(), which stays short without them. `node`: what it has taken, or NULL. */
static noinline void enter_slowly(struct djk_full_handler *handler, struct pt_regs *regs,
				  bool allowed, struct rethook_node *node)
{
	if (!node)
		node = take_or_miss(handler, regs, allowed);
	if (!node)
		return;
	if (handler->begins && !begin_call(handler, regs, node + 1))
		djk_call(rethook.recycle, (unsigned long)node, 0, 0, 0, 0);
	else
		hook(node, (unsigned long *)regs->sp);
}
NOKPROBE_SYMBOL(enter_slowly);

static __always_inline void enter(struct djk_full_handler *handler, struct pt_regs *regs,
				  unsigned int nmi)
{
	struct djk_shadow *const shadow = handler->shadow;
	const bool allowed = (preempt_count() & NMI_MASK) == nmi;
	struct rethook_node *node = NULL;

	if (likely(allowed && READ_ONCE(shadow->state) == SHADOW_RUNNING && !is_graphed(regs)))
		node = take_own(smp_load_acquire(&shadow->pools));
	if (unlikely(!node || handler->begins))
		enter_slowly(handler, regs, allowed, node);
	else
		hook(node, (unsigned long *)regs->sp);
}

void notrace __flatten djk_shadow_enter(struct djk_full_handler *handler, struct pt_regs *regs,
					unsigned int nmi)
{
	enter(handler, regs, nmi);
}
NOKPROBE_SYMBOL(djk_shadow_enter);

void notrace __flatten djk_shadow_entry(struct pt_regs *regs, struct djk_handler *link)
{
	enter(container_of(link, struct djk_full_handler, link), regs, 0);
}
NOKPROBE_SYMBOL(djk_shadow_entry);

/* ---- At the return ---- */

/* Run the handler with what was kept at the call's entry. */
static void end_call(struct djk_full_handler *handler, struct pt_regs *regs, void *data)
{
	const struct djk_session_call *const call = data;
	const unsigned long ip = regs->ip, di = regs->di, si = regs->si;

	if (handler->c_return) {
		this_cpu_inc(handler->counters->hits);
		handler->c_return->handler(handler->c_return, regs, data);
		regs->ip = ip;
		return;
	}
	/* The compiler may know that the function preserves these registers. */
	regs->di = call->cookie;
	regs->si = call->entered;
	djk_run_program(handler, regs);
	regs->di = di;
	regs->si = si;
}
NOKPROBE_SYMBOL(end_call);

/* A rethook handler, as the kernel's kretprobe_rethook_handler(), under the guard of
 * trace_call_bpf(). The kernel calls it with preemption off. */
#ifdef DJK_RETHOOK_RET_ADDR
static void notrace on_return(struct rethook_node *node, void *data, unsigned long return_address,
			      struct pt_regs *regs)
#else
static void notrace on_return(struct rethook_node *node, void *data, struct pt_regs *regs)
#endif
{
	struct djk_full_handler *const handler = data;
	const unsigned int active = __this_cpu_read(*djk_bpf_active());

	if (unlikely(active)) {
		djk_count_miss(handler, djk_why_missed(active));
		return;
	}
	__this_cpu_add(*djk_bpf_active(), DJK_OUR_MARK);
	djk_lock_rcu();
	if (unlikely(handler->begins || handler->c_return))
		end_call(handler, regs, node + 1);
	else
		djk_run_program(handler, regs);
	djk_unlock_rcu();
	__this_cpu_sub(*djk_bpf_active(), DJK_OUR_MARK);
}
NOKPROBE_SYMBOL(on_return);

/* ---- Pools ---- */

static void free_rethook(struct rethook *hook)
{
	/* Calls that are under way keep it until they have returned. */
	djk_call(rethook.free, (unsigned long)hook, 0, 0, 0, 0);
}

static struct rethook *make_rethook(struct djk_full_handler *handler, size_t data_size,
				    unsigned int size)
{
	struct rethook *hook;
#ifdef DJK_RETHOOK_OBJPOOL
	hook = (void *)djk_call(rethook.alloc, (unsigned long)handler, (unsigned long)on_return,
				sizeof(struct rethook_node) + data_size, size, 0);
	return IS_ERR(hook) ? NULL : hook;
#else
	struct rethook_node *node;

	hook = (void *)djk_call(rethook.alloc, (unsigned long)handler, (unsigned long)on_return, 0,
				0, 0);
	for (; hook && size; size--) {
		node = kzalloc(sizeof(*node) + data_size, GFP_KERNEL);
		if (!node) {
			free_rethook(hook);
			return NULL;
		}
		djk_call(rethook.add_node, (unsigned long)hook, (unsigned long)node, 0, 0, 0);
		cond_resched();
	}
	return hook;
#endif
}

static bool add_pool(struct djk_shadow *shadow, unsigned int size)
{
	struct pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL);

	if (pool)
		pool->rethook = make_rethook(shadow->handler, shadow->data_size, size);
	if (!pool || !pool->rethook) {
		kfree(pool);
		return false;
	}
	pool->next = shadow->pools;
	smp_store_release(&shadow->pools, pool);
	shadow->size += size;
	return true;
}

/*
 * Whether so many pools of so many instances leave memory to others: together they may take half of
 * what is available, divided by `share`. Newer kernels give a pool room for all its instances on
 * each possible CPU, a page at least.
 */
static bool fits(size_t pools, unsigned int size, size_t data_size, unsigned int share)
{
	u64 bytes = (u64)size * (sizeof(struct rethook_node) + data_size);
#ifdef DJK_RETHOOK_OBJPOOL
	const u64 slots = roundup_pow_of_two(size) * sizeof(void *);

	bytes += num_possible_cpus() * max_t(u64, slots, PAGE_SIZE);
#endif
	return pools * bytes / PAGE_SIZE <= (u64)si_mem_available() / 2 / share;
}

/* Two pools of the same size: one to use, and one for the time that it takes to add more. */
static bool grow(struct djk_shadow *shadow, unsigned int size)
{
	return add_pool(shadow, size) && add_pool(shadow, size);
}

static void grow_all(struct work_struct *work)
{
	struct djk_shadow *shadow;
	unsigned int size;

	mutex_lock(&all_mutex);
	list_for_each_entry(shadow, &all_shadows, in_all)
	{
		if (shadow->state != SHADOW_RUNNING || !READ_ONCE(shadow->is_short) ||
		    shadow->size >= shadow->most)
			continue;
		size = min(shadow->size, (shadow->most - shadow->size + 1) / 2);
		/* Without memory the next hit that misses asks again. */
		if (fits(2, size, shadow->data_size, GROWTH_SHARE))
			grow(shadow, size);
		WRITE_ONCE(shadow->is_short, false);
	}
	mutex_unlock(&all_mutex);
}

/* ---- Lifetime ---- */

static void free_pools(struct djk_shadow *shadow)
{
	struct pool *pool;

	while ((pool = shadow->pools)) {
		shadow->pools = pool->next;
		free_rethook(pool->rethook);
		kfree(pool);
	}
}

/* How many instances each of the first two pools has. */
static unsigned int first_instances(size_t together)
{
	const unsigned int share =
		max_t(size_t, FIRST_INSTANCES_OF_ALL / together, FIRST_INSTANCES_AT_LEAST);

	return clamp(min(READ_ONCE(instances), share) / 2, 1u, MOST_INSTANCES);
}

struct djk_shadow *djk_shadow_create(struct djk_full_handler *handler, size_t data_size,
				     unsigned int most, size_t together)
{
	const unsigned int first = most ? most : first_instances(together);
	struct djk_shadow *shadow;

	if (!fits((most ? 1 : 2) * together, first, data_size, 1))
		return NULL;
	shadow = kzalloc(sizeof(*shadow), GFP_KERNEL);
	if (!shadow)
		return NULL;
	shadow->handler = handler;
	shadow->data_size = data_size;
	shadow->most = most ? most : MOST_INSTANCES;
	if (most ? !add_pool(shadow, first) : !grow(shadow, first)) {
		free_pools(shadow);
		kfree(shadow);
		return NULL;
	}
	mutex_lock(&all_mutex);
	list_add(&shadow->in_all, &all_shadows);
	mutex_unlock(&all_mutex);
	return shadow;
}

/*
 * The kernel frees an instance that comes back to a rethook without a handler: each disabling would
 * cost the pools the instances of all calls under way. So a stopped shadow has this handler. It
 * reads nothing that djk_shadow_destroy() frees: only djk_shadow_exit() must wait for it.
 */
#ifdef DJK_RETHOOK_RET_ADDR
static void notrace ignore_return(struct rethook_node *node, void *data,
				  unsigned long return_address, struct pt_regs *regs)
#else
static void notrace ignore_return(struct rethook_node *node, void *data, struct pt_regs *regs)
#endif
{
}
NOKPROBE_SYMBOL(ignore_return);

static void set_running(struct djk_shadow *shadow, bool running)
{
	struct pool *pool;

	mutex_lock(&all_mutex);
	for (pool = shadow->pools; pool; pool = pool->next)
		rcu_assign_pointer(pool->rethook->handler, running ? on_return : ignore_return);
	/* A shadow that was short when it was stopped asks again. */
	WRITE_ONCE(shadow->is_short, false);
	smp_store_release(&shadow->state, !running ? SHADOW_STOPPED
					  : sleeps ? SHADOW_ASLEEP
						   : SHADOW_RUNNING);
	mutex_unlock(&all_mutex);
}

void djk_shadow_start(struct djk_shadow *shadow)
{
	set_running(shadow, true);
}

void djk_shadow_stop(struct djk_shadow *shadow)
{
	set_running(shadow, false);
}

void djk_shadow_destroy(struct djk_shadow *shadow)
{
	mutex_lock(&all_mutex);
	list_del(&shadow->in_all);
	mutex_unlock(&all_mutex);
	free_pools(shadow);
	kfree(shadow);
}

/* ---- System sleep ---- */

static void set_asleep(bool value)
{
	struct djk_shadow *shadow;

	mutex_lock(&all_mutex);
	/* A sleep that was prepared before the module was loaded ends, too. */
	if (value)
		sleeps++;
	else if (sleeps)
		sleeps--;
	list_for_each_entry(shadow, &all_shadows, in_all)
	{
		if (shadow->state == SHADOW_STOPPED)
			continue;
		/* The grower skips a shadow that is asleep: one that was short asks again. */
		WRITE_ONCE(shadow->is_short, false);
		WRITE_ONCE(shadow->state, sleeps ? SHADOW_ASLEEP : SHADOW_RUNNING);
	}
	mutex_unlock(&all_mutex);
}

/*
 * The functions that send the machine to sleep, or write its image, do not return: the CPU wakes up
 * in a caller of theirs, with the stack as it was there. An instance that they had taken would stay
 * in the task's list, and calls below it would return to where that one should have. Instances that
 * are in use when the sleep is prepared belong to such calls below, and are safe.
 */
static int on_sleep(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == PM_SUSPEND_PREPARE || event == PM_HIBERNATION_PREPARE)
		set_asleep(true);
	else if (event == PM_POST_SUSPEND || event == PM_POST_HIBERNATION)
		set_asleep(false);
	return NOTIFY_DONE;
}

static struct notifier_block sleep_notifier = {
	.notifier_call = on_sleep,
};

/* ---- Loading and unloading ---- */

int djk_shadow_init(void)
{
	rethook.trampoline = djk_lookup("arch_rethook_trampoline");
	rethook.graph = djk_lookup("return_to_handler");
	rethook.alloc = djk_lookup("rethook_alloc");
	rethook.free = djk_lookup("rethook_free");
	rethook.add_node = djk_lookup("rethook_add_node");
	rethook.recycle = djk_lookup("rethook_recycle");
	return register_pm_notifier(&sleep_notifier);
}

bool djk_shadow_is_there(void)
{
	return rethook.trampoline && rethook.alloc && rethook.free && rethook.recycle &&
	       (rethook.add_node || IS_ENABLED(DJK_RETHOOK_OBJPOOL));
}

void djk_shadow_exit(void)
{
	unregister_pm_notifier(&sleep_notifier);
	/* A hit that is still on its way out may have kicked the grower, and a return may still be
	 * in ignore_return(), perhaps on an idle CPU. */
	djk_quiesce();
	irq_work_sync(&grower_kick);
	cancel_work_sync(&grower);
}

#endif
