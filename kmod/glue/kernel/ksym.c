// SPDX-License-Identifier: GPL-2.0
/*
 * Executable memory that holds detours has kernel symbols of the kind that BPF programs have. A
 * stack trace ends at text that the kernel does not know; with a symbol it goes through a detour to
 * the probed function, and /proc/kallsyms, perf and oopses name the detour. Each piece of memory
 * has one symbol, and not each detour, because readers of /proc/kallsyms walk the list of these
 * symbols once for each of them. The frame behind that of a detour is the probed instruction.
 */
#include "ksym.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "imports.h"

/* 0 on a kernel that lacks one: the module then does without names, or without events. */
static unsigned long bpf_ksym_add_at __ro_after_init;
static unsigned long bpf_ksym_del_at __ro_after_init;
static unsigned long perf_event_ksymbol_at __ro_after_init;
static unsigned long perf_event_text_poke_at __ro_after_init;

struct named {
	struct list_head link;
	void *memory;
	void (*free_memory)(void *memory);
	struct rcu_work free;
	struct bpf_ksym ksym;
};

/* Under the registry lock. */
static LIST_HEAD(all_named);
static struct workqueue_struct *free_queue;

static void tell_ksymbol(const struct named *named, bool gone)
{
	const unsigned long size = named->ksym.end - named->ksym.start;

	if (perf_event_ksymbol_at)
		djk_call(perf_event_ksymbol_at, PERF_RECORD_KSYMBOL_TYPE_OOL, named->ksym.start,
			 size, gone, (unsigned long)named->ksym.name);
}

void djk_ksym_add(void *memory, size_t size)
{
	static unsigned int number;
	struct named *named;

	if (!bpf_ksym_add_at)
		return;
	named = kzalloc(sizeof(*named), GFP_KERNEL);
	if (!named)
		return;
	named->memory = memory;
	named->ksym.start = (unsigned long)memory;
	named->ksym.end = named->ksym.start + size;
	/* The name holds no address: a task that may not see addresses may see names. */
	scnprintf(named->ksym.name, sizeof(named->ksym.name), "djprobe_detours_%u", number++);
	INIT_LIST_HEAD_RCU(&named->ksym.lnode);
	list_add(&named->link, &all_named);
	djk_call(bpf_ksym_add_at, (unsigned long)&named->ksym, 0, 0, 0, 0);
	tell_ksymbol(named, false);
}

static void free_named(struct work_struct *work)
{
	struct named *named = container_of(to_rcu_work(work), struct named, free);

	named->free_memory(named->memory);
	kfree(named);
}

bool djk_ksym_del(void *memory, void (*free_memory)(void *memory))
{
	struct named *named;

	list_for_each_entry(named, &all_named, link)
	{
		if (named->memory != memory)
			continue;
		list_del(&named->link);
		tell_ksymbol(named, true);
		djk_call(bpf_ksym_del_at, (unsigned long)&named->ksym, 0, 0, 0, 0);
		/* An NMI that has just found the symbol may still read it, and the memory, because
		 * perf decodes branches that a CPU has recorded before. Free both after a grace
		 * period of RCU. */
		named->free_memory = free_memory;
		INIT_RCU_WORK(&named->free, free_named);
		queue_rcu_work(free_queue, &named->free);
		return true;
	}
	return false;
}

bool djk_tells_pokes(void)
{
	return perf_event_text_poke_at;
}

void djk_tell_poke(unsigned long address, const void *old_bytes, size_t old_size,
		   const void *new_bytes, size_t new_size)
{
	djk_call(perf_event_text_poke_at, address, (unsigned long)old_bytes, old_size,
		 (unsigned long)new_bytes, new_size);
}

int djk_ksym_start(void)
{
	free_queue = alloc_workqueue("djprobe_free", WQ_UNBOUND, 0);
	if (!free_queue)
		return -ENOMEM;
	perf_event_ksymbol_at = djk_lookup("perf_event_ksymbol");
	perf_event_text_poke_at = djk_lookup("perf_event_text_poke");
	bpf_ksym_del_at = djk_lookup("bpf_ksym_del");
	if (bpf_ksym_del_at)
		bpf_ksym_add_at = djk_lookup("bpf_ksym_add");
	if (!bpf_ksym_add_at)
		pr_info("this kernel has no bpf_ksym_add: stack traces end at detours\n");
	if (!perf_event_text_poke_at)
		pr_info("this kernel has no perf_event_text_poke: perf is not told of probes\n");
	return 0;
}

void djk_ksym_stop(void)
{
	/* Work that waits for RCU is not in the queue yet. */
	rcu_barrier();
	destroy_workqueue(free_queue);
}
