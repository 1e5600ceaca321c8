// SPDX-License-Identifier: GPL-2.0
/* Which helpers of BPF programs need no run context. */
#include "helpers.h"

#include <linux/cache.h>
#include <linux/kernel.h>

#include "../kernel/imports.h"
#include "../kernel.h"

/*
 * Helpers that the verifier lets programs of type kprobe call, or puts in place of a call for one
 * kind of map, and whose source was read: each looks at its arguments, at `current` and at counters
 * of its own, but not at current->bpf_ctx. A helper that is not named here, as those of newer
 * kernels, gets the run context, which makes a hit cost more but is never wrong.
 */
static const char *const names[] = {
	/* Time, numbers. */
	"bpf_ktime_get_ns", "bpf_ktime_get_boot_ns", "bpf_ktime_get_tai_ns",
	"bpf_ktime_get_coarse_ns", "bpf_jiffies64", "bpf_user_rnd_u32",
	/* Where it runs, and as whom. */
	"bpf_get_smp_processor_id", "bpf_get_raw_cpu_id", "bpf_get_numa_node_id",
	"bpf_get_current_pid_tgid", "bpf_get_ns_current_pid_tgid", "bpf_get_current_uid_gid",
	"bpf_get_current_comm", "bpf_get_current_task", "bpf_get_current_task_btf",
	"bpf_get_current_cgroup_id", "bpf_get_current_ancestor_cgroup_id", "bpf_task_pt_regs",
	/* Memory and strings. */
	"bpf_probe_read_kernel", "bpf_probe_read_kernel_str", "bpf_probe_read_user",
	"bpf_probe_read_user_str", "bpf_probe_read_compat", "bpf_probe_read_compat_str",
	"bpf_strncmp", "bpf_strtol", "bpf_strtoul", "bpf_snprintf", "bpf_trace_printk",
	"bpf_trace_vprintk", "bpf_per_cpu_ptr", "bpf_this_cpu_ptr", "bpf_kptr_xchg",
	"bpf_dynptr_from_mem", "bpf_dynptr_read", "bpf_dynptr_write", "bpf_dynptr_data",
	/* Stacks, of the registers that are an argument. */
	"bpf_get_stack", "bpf_get_stackid", "bpf_get_task_stack",
	/* Output. */
	"bpf_perf_event_output", "bpf_ringbuf_output", "bpf_ringbuf_reserve", "bpf_ringbuf_submit",
	"bpf_ringbuf_discard", "bpf_ringbuf_query", "bpf_ringbuf_reserve_dynptr",
	"bpf_ringbuf_submit_dynptr", "bpf_ringbuf_discard_dynptr", "bpf_send_signal",
	"bpf_send_signal_thread",
	/* Any map. */
	"bpf_map_lookup_elem", "bpf_map_update_elem", "bpf_map_delete_elem", "bpf_map_push_elem",
	"bpf_map_pop_elem", "bpf_map_peek_elem", "bpf_map_lookup_percpu_elem",
	"bpf_task_storage_get", "bpf_task_storage_get_recur", "bpf_task_storage_delete",
	"bpf_task_storage_delete_recur", "bpf_cgrp_storage_get", "bpf_cgrp_storage_delete",
	/* One kind of map. */
	"__htab_map_lookup_elem", "htab_map_lookup_elem", "htab_map_update_elem",
	"htab_map_delete_elem", "htab_lru_map_lookup_elem", "htab_lru_map_update_elem",
	"htab_lru_map_delete_elem", "htab_percpu_map_lookup_elem", "htab_percpu_map_update_elem",
	"htab_percpu_map_lookup_percpu_elem", "htab_lru_percpu_map_lookup_elem",
	"htab_lru_percpu_map_update_elem", "htab_lru_percpu_map_lookup_percpu_elem",
	"htab_of_map_lookup_elem", "array_map_lookup_elem", "array_map_update_elem",
	"array_map_delete_elem", "percpu_array_map_lookup_elem",
	"percpu_array_map_lookup_percpu_elem", "array_of_map_lookup_elem", "trie_lookup_elem",
	"trie_update_elem", "trie_delete_elem", "bloom_map_peek_elem", "bloom_map_push_elem",
	"queue_map_peek_elem", "queue_map_pop_elem", "stack_map_peek_elem", "stack_map_pop_elem",
	"queue_stack_map_push_elem"
};

static unsigned long known[ARRAY_SIZE(names)] __ro_after_init;

void djk_helpers_init(void)
{
	size_t i;

	/* A kernel may lack a helper. A name that several functions have says nothing. */
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (djk_lookup_all(names[i], &known[i], 1) != 1)
			known[i] = 0;
}

bool djk_needs_run_context(int helper)
{
	const unsigned long address = djk_imports.__bpf_call_base + helper;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (address == known[i])
			return false;
	return true;
}
