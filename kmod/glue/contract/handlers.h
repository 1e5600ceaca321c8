/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel: handlers. */
#ifndef DJPROBE_KMOD_CONTRACT_HANDLERS_H
#define DJPROBE_KMOD_CONTRACT_HANDLERS_H

#include "../../../uapi/djprobe_action.h"
#include "hit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What makes the handlers of a request's probes. */
struct djk_source;
struct djp_request;
/* One handler, for one probe of the request. NULL with the request's reason and detail. */
struct djk_handler *djk_make_handler(const struct djk_source *source, struct djp_request *request);
/* Note the function whose entry or return is probed; 0: the site lies within a function. Before
 * djk_handler_start(). */
void djk_handler_set_function(struct djk_handler *handler, unsigned long function);
/* A BPF program that a detour may call itself. */
struct djk_program {
	const void *insns; /* struct bpf_insn, as the verifier has left them */
	size_t insn_count;
	unsigned long code; /* u64 (struct pt_regs *) */
	size_t code_size;
	long hits; /* its 64-bit counter per CPU, by the offset from %gs */
};
/* The program that runs at the site or, in shadow mode, at the return. False: a detour must call
 * djk_machine.hit_handler instead. */
bool djk_handler_program(const struct djk_handler *handler, struct djk_program *program);
/* Whether the handler runs at returns (shadow mode); its site is the function's entry. */
bool djk_handler_is_shadow(const struct djk_handler *handler);
/* The same, and at the site a detour need call nothing but djk_machine.shadow_entry. */
bool djk_handler_enters_shadow(const struct djk_handler *handler);
/* Whether the program sees `ip` and `sp` as a probe of the kernel's own shows them: a detour must
 * not call it itself. */
bool djk_handler_shows_other(const struct djk_handler *handler);
/* What a handler with a counter does, or 0 where it increments; of another one the conditions in
 * front of what it runs, or 0. The list stays as long as the handler. */
size_t djk_handler_actions(const struct djk_handler *handler,
			   const struct djprobe_action **actions);
/* Where its timers keep the times of tasks, see DJPROBE_TIMES_HEAD; `entries` is 0 without one. */
struct djk_times {
	unsigned long entries; /* the address of the first one */
	unsigned int mask;     /* 2^n - 1 */
};
struct djk_times djk_handler_times(const struct djk_handler *handler);
/* Note that it reads neither: they need not change. Before djk_handler_start(). */
void djk_handler_show_own(struct djk_handler *handler);
/* Note that the program calls no helper that needs a run context. Before djk_handler_start(). */
void djk_handler_set_plain(struct djk_handler *handler);
/* Whether a helper, named as the verifier has left it in a call, may read more than its arguments.
 * Only djk_machine.hit_handler prepares that. An unknown helper may. */
bool djk_needs_run_context(int helper);
/* False: the program overrides what the function returns, and the kernel allows that only at the
 * entries of functions on its error-injection list. */
bool djk_handler_may_be_at(const struct djk_handler *handler, unsigned long address, bool entry);
/* The handler is about to be linked to a site; it has left its site. In shadow mode, returns of
 * calls that are under way are not seen after djk_handler_stop(). */
void djk_handler_start(struct djk_handler *handler);
void djk_handler_stop(struct djk_handler *handler);
/* Free a handler that was never started, or that was stopped before the last quiescence began: no
 * CPU may still run it. */
void djk_handler_destroy(struct djk_handler *handler);
/* How often the handler has run, and was skipped, by enum djprobe_miss: sums over all CPUs. In any
 * context. */
void djk_handler_count(const struct djk_handler *handler, unsigned long *hits,
		       unsigned long missed[8]);

#ifdef __cplusplus
}
#endif
#endif
