/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The boundary between the module's C++ (policy) and its C (kernel headers).
 *
 * C++ never includes a kernel header and C never includes arch/x86: both include this file, which
 * needs neither, and the lists of kmod/linux_names.
 * djk_* is the kernel as the policy sees it (implemented in C; by a model in userspace tests);
 * djp_* is the policy as the kernel calls it (implemented in C++).
 *
 * Reasons travel as the numbers of uapi/djprobe_reason.h. errno stays on the C side. Addresses are
 * kernel virtual addresses, sizes are bytes, an extent is [begin, end).
 *
 * Unless a comment says otherwise, a function may sleep, needs no lock and holds none on return.
 * "In any context" includes NMIs. The lock order is: registry lock > kprobe_mutex >
 * cpus_read_lock() > jump_label_mutex > text_mutex. The hit path takes none of them.
 */
#ifndef DJPROBE_KMOD_KERNEL_H
#define DJPROBE_KMOD_KERNEL_H

#include "../../uapi/djprobe_action.h"
#include "../../uapi/djprobe_reason.h"

#ifdef __cplusplus
using size_t = decltype(sizeof(0));
extern "C" {
#else
#include <linux/stddef.h>
#include <linux/types.h>
#endif

/* ---- What the hit path reads; owned by the policy, replaced under RCU. ---- */

/*
 * One handler on a site: a BPF program, a function in C, or a counter. The C side keeps more behind
 * this first member. Handlers form a list and not an array, because leaving a list needs no memory:
 * detaching cannot fail.
 */
struct djk_handler {
	struct djk_handler *next;
	unsigned int wants; /* enum djk_wants, or-ed; it never changes */
	long counter;	    /* a 64-bit counter per CPU, by its offset from %gs: a hit only
			     * increments it, or does what djk_handler_actions() says with it
			     * and those behind it. 0: the handler runs something. It never
			     * changes */
};

/* What a handler asks of the code that calls it. */
enum djk_wants {
	DJK_WANTS_REDIRECT = 1, /* it may change where the probed text continues */
	DJK_WANTS_AFTER = 2,	/* it is called behind the probed instruction, too */
};

/* A detour ors this to the site that it hands to the hit handler: the probed instruction has run.
 */
#define DJK_AFTER 1ul

/* A site as a hit sees it. */
struct djk_site {
	struct djk_handler *handlers; /* those that count first, each kind in the order of its
				       * attachment; a handler that was disabled by itself comes
				       * back as the last one of its kind */
};

/* An address where the policy may write an int3. */
struct djk_trap {
	unsigned long address;
	unsigned long resume;  /* where a hit continues; the policy changes it atomically */
	struct djk_site *site; /* whose handlers run first; NULL: none */
	struct djk_trap *next; /* the next trap of the bucket */
};

/* All traps, by their address. A reader has interrupts off, so that a core sync waits for it. A
 * trap that was taken out keeps its link, because a reader may stand on it. */
#define DJK_TRAP_BUCKETS 8192
/* NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit where it is defined. */
extern struct djk_trap *djp_traps[DJK_TRAP_BUCKETS];

static inline struct djk_trap **djk_trap_bucket(unsigned long address)
{
	return &djp_traps[(address ^ address >> 13) % DJK_TRAP_BUCKETS];
}

/* The trap at an address, or NULL: the int3 is not ours. In any context, without a lock. It stands
 * in this header because every hit at an int3 runs it. */
static inline struct djk_trap *djk_find_trap(unsigned long address)
{
	/* Acquire: a reader sees a trap only when it is complete. */
	struct djk_trap *trap = __atomic_load_n(djk_trap_bucket(address), __ATOMIC_ACQUIRE);

	while (trap && trap->address != address)
		trap = __atomic_load_n(&trap->next, __ATOMIC_ACQUIRE);
	return trap;
}

/* ---- Kernel: text. ---- */

/* Keep out every other writer of kernel text, every change of a kprobe, and every CPU that would
 * come online or go offline (kprobe_mutex, cpus_read_lock(), text_mutex). */
void djk_text_lock(void);
void djk_text_unlock(void);
/* Write up to a page of kernel text. Under djk_text_lock(). Other CPUs may run the old bytes until
 * djk_text_sync(). */
void djk_text_write(unsigned long address, const void *bytes, size_t size);
/* Let every CPU run a serializing instruction. No CPU is then in an int3 handler that it entered
 * before the call. Under djk_text_lock(), with interrupts on. */
void djk_text_sync(void);

/*
 * Text that the policy changes, as it was before. The kernel's own kprobes see it when they decode
 * the text; the kernel then accepts and optimizes the same kprobes as without us, except on our
 * bytes. The policy shows a patch before it writes the first byte, and hides it after it has
 * restored the last one. It shows, changes and hides a patch under djk_text_lock().
 */
#define DJK_PATCH_MAX 32
struct djk_extent {
	unsigned long begin, end; /* a stretch of memory */
};
struct djk_patch {
	const unsigned char *original; /* `length` bytes, which stay until the patch is hidden */
	unsigned long address;
	unsigned int length;	/* at most DJK_PATCH_MAX */
	struct djk_extent ours; /* what may differ from the original now: the kernel puts no kprobe
				 * there, */
	unsigned long jump;	/* except here, on the first byte of our jump; 0: there is none */
	struct djk_patch *next;
};
void djk_show_patch(struct djk_patch *patch);
void djk_hide_patch(struct djk_patch *patch);

/* Wait until no task is preempted, interrupted or running in any text or handler that was
 * unreachable when the call began. It takes tens of milliseconds. The caller holds neither the
 * registry lock nor djk_text_lock(): others would wait as long. */
void djk_quiesce(void);

/* Executable memory within +-2 GiB of all kernel and module text, filled with int3; only
 * djk_text_write() writes to it. `size` is a multiple of a page. NULL: out of memory. To
 * allocate takes text_mutex. Both run under the registry lock, except while the module loads. No
 * CPU may be in memory that is freed. */
void *djk_exec_alloc(size_t size);
void djk_exec_free(void *memory, size_t size);

/* ---- Kernel: symbols and facts. ---- */

/* The address of the text symbol "NAME" or "MODULE:NAME". Returns NONE, NO_SUCH_SYMBOL, or
 * AMBIGUOUS_SYMBOL with two candidates in `other`. */
unsigned int djk_symbol_find(const char *name, unsigned long *address, unsigned long other[2]);

/* All symbols of that name in the kernel; if it has none, one in a module. Returns how many there
 * are, which may be more than `max`: the first `max` are stored. */
size_t djk_find_symbols(const char *name, unsigned long *addresses, size_t max);

/* The extent [start, start + size) of the function that holds `address`. It is what the symbol
 * covers; but a function without a symbol, which kallsyms counts to the one before it, has an
 * extent of its own. False: no symbol covers the address. */
bool djk_symbol_range(unsigned long address, unsigned long *start, unsigned long *size);
/* Whether the function that holds `address` has a symbol. */
bool djk_has_name(unsigned long address);

/* The name of the symbol that covers `address` (room for 512 bytes; "" for none), of its module
 * (room for 64; "" for the kernel), and the distance of the address from the symbol. */
void djk_symbol_name(unsigned long address, char *name, char *module, unsigned long *offset);

/* The entry that a function's first byte stands for: the address behind endbr64 and ftrace call. */
unsigned long djk_function_entry(unsigned long function);

/* Why no probe may be at `address`, whatever is there: NOT_TEXT, INIT_TEXT, OWN_TEXT, IDLE_TEXT,
 * STATIC_CALL (a trampoline), BLACKLISTED, FRAGILE_TEXT, MODULE_LEAVING; else NONE. */
unsigned int djk_forbidden(unsigned long address);

/* What the kernel has at each of the `count` bytes from `address` on: FTRACE_SITE, ALTERNATIVE,
 * JUMP_LABEL, STATIC_CALL, BUG_SITE, EXTABLE_INSN, FOREIGN_PATCH (a kprobe), else NONE. On entry
 * reasons[i] tells whether a jump label or a static call may be there (djk_list_rewritten()). The
 * caller has pinned the module of the byte in the middle. Takes jump_label_mutex and text_mutex. */
void djk_reserved(unsigned long address, unsigned char *reasons, size_t count);

/* A kprobe of the kernel's own at an address. */
enum djk_kprobe_state {
	DJK_KPROBE_NONE,
	DJK_KPROBE_BYTE, /* it owns one byte, where it writes an int3 when it is enabled */
	DJK_KPROBE_JUMP, /* it owns five bytes, where it has written its jump or soon will */
};
/* Does not sleep. The answer stays true as long as the caller holds djk_text_lock(). */
enum djk_kprobe_state djk_kprobe_at(unsigned long address);

/*
 * Where the kernel has a kprobe already, the site registers one more, whose handler runs those of
 * the site: the kernel allows many kprobes at one address, and hits ours whatever state the others
 * are in. NULL with the reason: NO_MEMORY or FOREIGN_PATCH. Not under djk_text_lock(), whose locks
 * it takes.
 */
struct djk_seat;
struct djk_seat *djk_join_kprobe(struct djk_site *site, unsigned long address,
				 unsigned int *reason);
/* No hit that begins from now on runs the site's handlers, but in text that goes with its module.
 * The seat is not the caller's any more; its kprobe is disabled, but looks like one of the kernel's
 * own until djk_give_up_seats(). Sleeps. Not under djk_text_lock(). */
void djk_leave_kprobe(struct djk_seat *seat);
/* Unregister the kprobes of all seats that were left. Before the quiescence after which their sites
 * may be freed. Sleeps for grace periods of RCU: not under the registry lock. */
void djk_give_up_seats(void);
/* Add the hits that the kernel has skipped there to missed[], by enum djprobe_miss. In any context.
 */
void djk_count_missed_in_kprobe(const struct djk_seat *seat, unsigned long missed[8]);

/* The original bytes behind a kprobe at `address`, as many as its jump would hide. False: no kprobe
 * has changed the text there. Does not sleep. The caller holds djk_text_lock() for an answer that
 * agrees with the text. */
#define DJK_KPROBE_BYTES 5
bool djk_recover_foreign(unsigned long address, unsigned char bytes[DJK_KPROBE_BYTES]);

/* The addresses of all kprobes of the kernel. Returns how many there are, which may be more than
 * `max`. Does not sleep. */
size_t djk_list_kprobes(unsigned long *addresses, size_t max);
/* Whether there is one. Does not sleep. */
bool djk_has_kprobes(void);
/*
 * Where the kernel has begun to register kprobes since the last call. Returns how many there were,
 * which may be more than are told: list them all then. Under djk_text_lock(): each of these kprobes
 * is in the kernel's table, or was refused. Does not sleep.
 */
#define DJK_NEW_KPROBES 16
size_t djk_take_new_kprobes(unsigned long addresses[DJK_NEW_KPROBES]);

/* The text that can branch to `address`: that of the core kernel, or of one module. False: the
 * address is in no text. */
bool djk_text_extent(unsigned long address, struct djk_extent *text);
void djk_core_text_extent(struct djk_extent *text);
/* Data that may hold code pointers into core text. */
void djk_core_rodata_extent(struct djk_extent *rodata);

/* Calls visit(context, kind, source, target) for every place where control can arrive without an
 * instruction that says so. `kind` is FIXUP_INTO_REGION (source 0), LABEL_INTO_REGION or, of a
 * module, POINTER_INTO_REGION. `module_address` 0 stands for the core kernel; else the caller has
 * pinned the module that holds it, and visit() must not sleep. */
typedef void (*djk_landing_visit)(void *context, unsigned int kind, unsigned long source,
				  unsigned long target);
void djk_visit_landings(unsigned long module_address, djk_landing_visit visit, void *context);

/* Whether the compiler has made the function: it has an ftrace call at its entry. */
bool djk_is_compiled(unsigned long function);
/* Why no return address may be replaced in a function: NO_SHADOW or SPECIAL_RETURN; else NONE. */
unsigned int djk_unshadowable(unsigned long function);
/* Whether the symbol is a part of a function that the compiler has moved away: NAME.cold. */
bool djk_is_part(unsigned long symbol);
/* Whether an instruction in [begin, end) has an exception-table entry. True as well for text whose
 * module has gone. Does not sleep. */
bool djk_has_fixups(unsigned long begin, unsigned long end);

/* Calls visit(context, kind, place, target) for every instruction that the kernel rewrites: jump
 * labels, with their target, and static calls, with target 0. They belong to the core kernel, or to
 * the module that holds `address`: the caller has pinned it, and visit() must not sleep. */
enum djk_flow_kind { DJK_FLOW_LABEL, DJK_FLOW_CALL, DJK_FLOW_UNKNOWN };
typedef void (*djk_flow_visit)(void *context, unsigned int kind, unsigned long place,
			       unsigned long target);
void djk_visit_rewritten_flow(unsigned long address, djk_flow_visit visit, void *context);
/* The same for those of them that begin in [begin, end). */
void djk_visit_rewritten_near(unsigned long address, unsigned long begin, unsigned long end,
			      djk_flow_visit visit, void *context);
/* The same for the core kernel, as a list that is sorted by place. It does not change after boot.
 * Returns how many there are, which may be more than `max`. */
struct djk_rewrite {
	unsigned long place, target;
	unsigned int kind;
};
size_t djk_list_rewritten(struct djk_rewrite *list, size_t max);
/* Calls visit() with DJK_FLOW_UNKNOWN for all kprobes of the kernel's own that there are now: their
 * handlers may read any register. visit() must not sleep. */
void djk_visit_kprobes(djk_flow_visit visit, void *context);

/* Copy text. False: a byte is not readable. In any context; the copy is consistent only under
 * djk_text_lock(). */
bool djk_read(void *to, unsigned long address, size_t size);

/* Constants of this kernel for the analysis and the detours. */
struct djk_machine {
	unsigned short cs, ss; /* the kernel's selectors, for struct pt_regs */
	bool smap;	       /* a detour must save and clear EFLAGS.AC */
	bool lahf;	       /* the CPU has lahf and sahf */
	bool no_jump_tables;   /* the kernel's configuration excludes jump tables */
	unsigned int pad;      /* bytes before each function that its callers run; 0: they do not */
	struct djk_extent indirect_thunks, return_thunks; /* what the compiler jumps to */
	struct djk_extent boot_thunks[2]; /* where boot may lead jumps to indirect thunks instead */
	/* The kernel counts calls, so that returns do not outrun what the CPU predicts (call depth
	 * tracking). A displaced call is a push and a jump: the kernel counts it, but the CPU
	 * predicts no return for it. */
	bool counts_calls;
	/* A return or an indirect branch is safe only at some places of a cache line (ITS), so no
	 * copy of one is. Returns jump to return_thunk instead. */
	bool aligned_branches;
	unsigned long return_thunk;
	unsigned long hit_handler; /* bool (struct pt_regs *, struct djk_site *): djk_hit() */
	unsigned long slow_thunk;  /* djk_hit_slow_thunk() */
	unsigned long
		shadow_entry; /* void (struct pt_regs *, struct djk_handler *); reads sp only */
	/* What a detour needs to call a program itself: ints per CPU, by their offset from %gs, 0
	 * for none. `active` counts BPF programs and our handlers that run on the CPU. */
	int active, preempt_count;
	bool wide_preempt_count; /* a long; it tells in its last bit that no reschedule is due */
	signed char mark;	 /* a handler of ours adds it to `active` while it runs */
	unsigned long stats;   /* address of an int that is not 0 while BPF statistics are taken */
	unsigned long resched; /* void (), to call when the preemption count has reached 0; or 0 */
	int current_task;      /* the address of the task that runs, per CPU */
	unsigned int task_fields[DJPROBE_TASK_FIELDS]; /* where its fields lie */
	int cpu_number;				       /* a CPU's own number, per CPU */
};
void djk_get_machine(struct djk_machine *machine);

/* From now on djk_forbidden() says FRAGILE_TEXT in these ranges. The caller keeps the array until
 * it sets another one. Only while the module loads or unloads. */
void djk_set_fragile(const struct djk_extent *ranges, size_t count);
/* Tell the log why the module does not load: this kernel has no symbol `name` (`of` what, or ""),
 * or the function of that name calls neither of the two callees. */
void djk_lacks(const char *name, const char *of);
void djk_lacks_call(const char *name, const char *const callees[2]);

/* Keep the module that holds `address` from unloading, until djk_unpin_target(). False: the module
 * loads or unloads, or the address is in none. The core kernel needs no pin: true. Do not sleep. */
bool djk_pin_target(unsigned long address);
void djk_unpin_target(unsigned long address);

/* ---- Kernel: handlers. ---- */

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

/* ---- Kernel: the rest. ---- */
/* The policy's one lock: it guards all that the policy owns. */
void djk_registry_lock(void);
void djk_registry_unlock(void);
/* Zero-filled memory; NULL when out of memory. The large kind need not be contiguous. Freeing NULL
 * does nothing. */
void *djk_alloc(size_t size);
void djk_free(void *memory);
void *djk_alloc_large(size_t size);
void djk_free_large(void *memory);
void djk_breathe(void); /* lets the scheduler in, in long loops */
/* How much a request does before it lets others have the registry lock: `size` things that cost
 * about the same. The size follows from how long the last portion took. */
struct djk_portion {
	unsigned int size;
	unsigned long long begun; /* nanoseconds; the C side's */
};
void djk_portion_begin(struct djk_portion *portion);
/* Give the registry lock back and take it again, so that tasks that wait for it come first. Under
 * the registry lock. */
void djk_registry_pause(struct djk_portion *portion);
bool djk_is_dying(void); /* the calling task has been killed: give up what can be undone */
/* Let the worker call djp_optimizer_run() as soon as the registry lock is free. Under the registry
 * lock. */
void djk_optimizer_kick(void);
void djk_optimizer_kick_later(void); /* the same after a second, with or without the lock */
/* Let the worker call djp_end_once() soon. */
void djk_watch_once(void);
/* Let the worker call djp_keep_for_kprobes() soon. Under djk_text_lock(). */
void djk_watch_kprobes(void);
void djk_optimizer_done(void); /* wakes the tasks that wait for djp_is_settled() */
/* Count one more, or one less, reason why this module must not unload. The caller of the first has
 * a reference already. */
void djk_keep_module(void);
void djk_release_module(void);
void djk_warn(const char *what, unsigned long address); /* a line in the log: "SYMBOL+0x1: what" */

/* ---- Policy: called by the C side. ---- */

/* The place that a request names. */
enum djp_where {
	DJP_SITE,	  /* one instruction */
	DJP_RETURNS,	  /* every return instruction of a function */
	DJP_SHADOW_ENTRY, /* a function's entry, where its return address is replaced */
};

/* One site, or the returns of one function, as a caller names it. */
struct djp_request {
	const char *symbol;    /* "NAME" or "MODULE:NAME"; NULL: `address` names the site */
	unsigned long offset;  /* bytes from the symbol */
	unsigned long address; /* in: without symbol; out: the IA, or the function's start */
	enum djp_where where;
	const struct djk_source *source; /* makes its probes' handlers */
	unsigned long cookie;
	bool inside;		 /* out: it does not name a function by its first byte */
	bool int3_only;		 /* never a jump */
	bool once;		 /* a counter: the probe is disabled soon after its first hit */
	bool disabled;		 /* attach, but leave the text alone until djp_enable() */
	bool left_out;		 /* out: see djp_attachment.skip_refused */
	unsigned int reason;	 /* out: why not; on success why a probe of it gets no jump */
	unsigned long detail[2]; /* out: see djprobe_reason.h */
};

/* Requests that are carried out together, all or none. */
struct djp_attachment {
	struct djp_request *requests;
	size_t count;
	/*
	 * Leave out a request that is refused for its own place's sake, and carry out the others.
	 * It has `left_out` and the reason, and no probe. When none is left, that is a refusal, and
	 * `failed` is the first one.
	 */
	bool skip_refused;
	/* Out, on success. The caller frees the array: djk_free_large(). */
	struct djp_probe **probes; /* at least one for each request, in their order */
	size_t probe_count;
	/* Out, on refusal. */
	size_t failed;	     /* the request at fault, which has the reason too; or count */
	unsigned int reason; /* INTERRUPTED: the calling task has been killed */
	unsigned long detail[2];
};

/* What struct djprobe_query says of one probe; see there for the fields. */
struct djp_status {
	unsigned int state, mechanism, reason;
	unsigned long detail[2];
	unsigned long address, cookie, hits, missed[8];
	bool at_return, shadow, counts, once, filtered;
	unsigned int tactic;
	unsigned long anchor;
	unsigned int displaced_len;
	unsigned char displaced[32];
};

/* What struct djprobe_explain says of a place; see there for the fields. */
struct djp_verdict {
	unsigned int verdict, tactic, before;
	unsigned long anchor, board;
	unsigned int region_len;
	unsigned char region[32];
};

struct djp_probe; /* one attached probe */

/* Learn what is fixed while the module is loaded. Returns 0, or a reason with nothing left behind.
 * All other functions come after it. */
int djp_start(void);
/* Free everything. Every probe is detached, the worker has ended, and no other call is under way.
 */
void djp_stop(void);

/* The index of the first action that is none, or `count`. Where their counters are is not looked
 * at. */
size_t djp_find_wrong_action(const struct djprobe_action *actions, size_t count);

/* Attach all or none: on false everything is as it was. The first call takes seconds, in which it
 * reads all text of the kernel. */
bool djp_attach(struct djp_attachment *attachment);
/* Decide as djp_attach() would; of several returns the worst one counts. Source, cookie and mode
 * are not looked at. False: there is no such place, see request->reason. True: request->reason is
 * the verdict's. */
bool djp_explain(struct djp_request *request, struct djp_verdict *verdict);
/* Detach. This cannot fail. The pointers are invalid from here on. A hit that has begun may still
 * run the handlers until a quiescence that begins afterwards; then they are destroyed. */
void djp_detach(struct djp_probe *const *probes, size_t count);
/* Enable all or none. Returns `count`, or the index of the probe that is refused, whose reason and
 * detail are in *refused. One caller at a time enables or disables a probe. */
size_t djp_enable(struct djp_probe *const *probes, size_t count, struct djp_request *refused);
/* Disable. This cannot fail. The handlers may still run until a quiescence that begins afterwards.
 */
void djp_disable(struct djp_probe *const *probes, size_t count);
/* Describe the probes as they are at one moment. */
void djp_query(struct djp_probe *const *probes, size_t count, struct djp_status *statuses);
/* The handler of a probe, which stays the same. In any context. */
const struct djk_handler *djp_handler(const struct djp_probe *probe);
/* Calls visit() for all probes, newest first, until it says false. visit() runs under the registry
 * lock, which others have in between: a probe that comes or goes meanwhile may be missing. */
typedef bool (*djp_status_visit)(void *context, const struct djp_status *status);
void djp_list(djp_status_visit visit, void *context);

/* The switches for all probes. One caller at a time sets each of the two. Off cannot fail. On tries
 * every probe; a probe that cannot come back keeps the reason. */
void djp_set_enabled(bool enabled); /* off: no probe is in the text; each keeps its own state */
bool djp_is_enabled(void);
void djp_set_optimization(bool optimization); /* off: every site is at int3 and stays there */
bool djp_is_optimization_on(void);
/* Whether the optimizer has decided about the probe's site. Does not sleep. Under RCU, which keeps
 * the site. */
bool djp_is_settled(const struct djp_probe *probe);

/* The worker calls this after djk_optimizer_kick(): write jumps, free what was detached. */
void djp_optimizer_run(void);
/* The worker calls this after djk_watch_once(): disable the probes that were to count once and
 * have. Whether to look again. */
bool djp_end_once(void);
/* The worker calls this after djk_watch_kprobes(): let detours keep what the handlers of new
 * kprobes read. Whether memory ran short: call it again. */
bool djp_keep_for_kprobes(void);
/* A module unloads, and the kernel is about to free this text: take the sites out of it. */
void djp_module_gone(const struct djk_extent *text);

#ifdef __cplusplus
}
#endif
#endif
