/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The boundary between the module's C++ (policy) and its C (kernel headers).
 *
 * C++ never includes a kernel header and C never includes arch/x86: both include this file, which
 * needs neither, and the lists of kmod/linux_names.
 * djk_* is the kernel as the policy sees it (implemented in C; by a model in userspace tests);
 * djp_* is the policy as the kernel calls it (implemented in C++).
 *
 * Reasons travel as the numbers of uapi/djprobe_reason.h. errno stays on the C
 * side. Unless said otherwise a function may sleep and holds no lock on return.
 *
 * Lock order: registry lock > kprobe_mutex > cpus_read_lock() > jump_label_mutex >
 * text_mutex. The hit path takes none.
 */
#ifndef DJPROBE_KMOD_KERNEL_H
#define DJPROBE_KMOD_KERNEL_H

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
 * One handler on a site: a BPF program or one in C, its counters. The first
 * member of what the C side keeps. A list and not an array, because leaving a
 * list needs no memory: detaching cannot fail.
 */
struct djk_handler {
	struct djk_handler *next;
	unsigned int wants; /* enum djk_wants, or-ed; fixed */
};

/* What a handler asks of the code that calls it. */
enum djk_wants {
	DJK_WANTS_REDIRECT = 1, /* it may change where the probed text continues */
	DJK_WANTS_AFTER = 2,	/* to be called behind the probed instruction, too */
};

/* Or-ed to the site that a detour hands to the hit handler: this call is the one behind. */
#define DJK_AFTER 1ul

/* A site as a hit sees it. */
struct djk_site {
	struct djk_handler *handlers; /* in the order of their attachment; one that was disabled by
				       * itself and comes back is the last */
};

/* An address where an int3 of ours may stand. */
struct djk_trap {
	unsigned long address;
	unsigned long resume;  /* where to continue; changes atomically */
	struct djk_site *site; /* whose handlers run first; NULL: none */
	struct djk_trap *next; /* in its bucket */
};

/* All traps, by their address. Whoever reads has interrupts off; one that was taken out keeps its
 * link for those who stand on it. */
#define DJK_TRAP_BUCKETS 8192
/* NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit where it is defined. */
extern struct djk_trap *djp_traps[DJK_TRAP_BUCKETS];

static inline struct djk_trap **djk_trap_bucket(unsigned long address)
{
	return &djp_traps[(address ^ address >> 13) % DJK_TRAP_BUCKETS];
}

/* Lock-free, any context. NULL: not ours. Here, since every hit at int3 needs it. */
static inline struct djk_trap *djk_find_trap(unsigned long address)
{
	/* Acquire: a reader sees a trap only when it is complete. */
	struct djk_trap *trap = __atomic_load_n(djk_trap_bucket(address), __ATOMIC_ACQUIRE);

	while (trap && trap->address != address)
		trap = __atomic_load_n(&trap->next, __ATOMIC_ACQUIRE);
	return trap;
}

/* ---- Kernel: text. ---- */

/* Serializes every writer of kernel text. Writing and syncing need it held. */
void djk_text_lock(void);
void djk_text_unlock(void);
void djk_text_write(unsigned long address, const void *bytes, size_t size);
void djk_text_sync(void);

/*
 * Text that we change, as it was before: what the kernel's own kprobes see when they decode it.
 * The kernel then accepts and optimizes the same kprobes as without us, but for those on our bytes.
 * Shown before the first byte is written and until the last one is restored. All of it under
 * djk_text_lock(), the changes of a shown patch included.
 */
#define DJK_PATCH_MAX 32
struct djk_extent {
	unsigned long begin, end; /* a stretch of memory */
};
struct djk_patch {
	const unsigned char *original; /* `length` bytes; they stay as they are */
	unsigned long address;
	unsigned int length;	/* at most DJK_PATCH_MAX */
	struct djk_extent ours; /* what may differ from the original now; the kernel puts no kprobe
				 * there */
	unsigned long jump;	/* but on the first byte of a jump of ours; 0: there is none */
	struct djk_patch *next;
};
void djk_show_patch(struct djk_patch *patch);
void djk_hide_patch(struct djk_patch *patch);

/* Wait until no task is preempted, interrupted or running in any text or handler
 * that was unreachable when the call began. Tens of milliseconds. */
void djk_quiesce(void);

/* Executable memory within +-2 GiB of all kernel and module text, filled with
 * int3; written only by djk_text_write. Whole pages; NULL when out of memory. */
void *djk_exec_alloc(size_t size);
void djk_exec_free(void *memory, size_t size);

/* ---- Kernel: symbols and facts. ---- */

/* Resolve "NAME" or "MODULE:NAME" to a text address. Reason NONE, NO_SUCH_SYMBOL
 * or AMBIGUOUS_SYMBOL (then two candidates in `other`). */
unsigned int djk_symbol_find(const char *name, unsigned long *address, unsigned long other[2]);

/* All symbols of that name in the kernel, else one in a module. Returns how many there are, which
 * may be more than `max`. */
size_t djk_find_symbols(const char *name, unsigned long *addresses, size_t max);

/* Extent [start, start + size) of the function that holds `address`: what its symbol covers, but
 * for functions without a symbol behind it, each of which has an extent of its own; false: none. */
bool djk_symbol_range(unsigned long address, unsigned long *start, unsigned long *size);
/* Whether the function that holds `address` has a symbol. */
bool djk_has_name(unsigned long address);

/* Name of that symbol (at least 512 bytes) and of its module (at least 64, "" for the kernel). */
void djk_symbol_name(unsigned long address, char *name, char *module, unsigned long *offset);

/* The function entry that a function's first byte stands for: past endbr64 and ftrace call. */
unsigned long djk_function_entry(unsigned long function);

/* What forbids probing anywhere at `address`: text it is not, init text, blacklist, idle. */
unsigned int djk_forbidden(unsigned long address);

/* Who owns each of the bytes from `address` on (ftrace, jump label, static call, BUG,
 * alternative, exception table, foreign kprobe), or NONE. On entry reasons[i] tells whether a jump
 * label or a static call may be there (djk_list_rewritten). Takes jump_label_mutex and text_mutex.
 */
void djk_reserved(unsigned long address, unsigned char *reasons, size_t count);

/* A kprobe of the kernel's own at an address. */
enum djk_kprobe_state {
	DJK_KPROBE_NONE,
	DJK_KPROBE_BYTE, /* it may write an int3 to its own byte; disabled, it has not */
	DJK_KPROBE_JUMP, /* its jump is in the text, or will be: five bytes */
};
enum djk_kprobe_state djk_kprobe_at(unsigned long address);

/*
 * Where the kernel has a kprobe already, a site takes part in it by one more kprobe, whose handler
 * runs the site's: the kernel allows many at one address. Whatever state the others are in, and
 * change to, ours is hit. Sleeps. NULL with the reason.
 */
struct djk_seat;
struct djk_seat *djk_join_kprobe(struct djk_site *site, unsigned long address,
				 unsigned int *reason);
/* No hit that begins from now on runs the site's handlers. The seat is not the caller's any more.
 */
void djk_leave_kprobe(struct djk_seat *seat);
/* Take the kprobes of such seats out of the kernel's table: before a quiescence, after which their
 * sites may be freed. Sleeps for grace periods; not under the registry lock. */
void djk_give_up_seats(void);
/* Add the hits that the kernel has skipped there. */
void djk_count_missed_in_kprobe(const struct djk_seat *seat, unsigned long missed[8]);

/* The original bytes behind a foreign kprobe at `address`, as many as its jump would hide; false:
 * none there. */
#define DJK_KPROBE_BYTES 5
bool djk_recover_foreign(unsigned long address, unsigned char bytes[DJK_KPROBE_BYTES]);

/* Addresses of all kprobes of the kernel. Returns how many there are, which may be more than `max`.
 */
size_t djk_list_kprobes(unsigned long *addresses, size_t max);

/* Text that can branch into `address`: the core kernel's, or its module's. False: not text. */
bool djk_text_extent(unsigned long address, struct djk_extent *text);
void djk_core_text_extent(struct djk_extent *text);
/* Data that may hold code pointers into core text. */
void djk_core_rodata_extent(struct djk_extent *rodata);

/* Calls visit(context, kind, source, target) for every place where control can arrive that is no
 * instruction's doing; kind: FIXUP_INTO_REGION (source 0), LABEL_INTO_REGION and, of a module,
 * POINTER_INTO_REGION. Of the core kernel, or of the module that holds `module_address` when that
 * is not 0. */
typedef void (*djk_landing_visit)(void *context, unsigned int kind, unsigned long source,
				  unsigned long target);
void djk_visit_landings(unsigned long module_address, djk_landing_visit visit, void *context);

/* Made by the compiler, with an ftrace call at its entry. */
bool djk_is_compiled(unsigned long function);
/* Why no return address may be replaced in a function, or NONE. */
unsigned int djk_unshadowable(unsigned long function);
/* A part of some function that the compiler has moved away: NAME.cold. */
bool djk_is_part(unsigned long symbol);
/* Has an instruction in [begin, end) an exception-table entry? */
bool djk_has_fixups(unsigned long begin, unsigned long end);

/* Calls visit(context, kind, place, target) for instructions that do not do what they say, of the
 * core kernel or of the module that holds `address`. Labels (with their target) and static calls:
 */
enum djk_flow_kind { DJK_FLOW_LABEL, DJK_FLOW_CALL, DJK_FLOW_UNKNOWN };
typedef void (*djk_flow_visit)(void *context, unsigned int kind, unsigned long place,
			       unsigned long target);
void djk_visit_rewritten_flow(unsigned long address, djk_flow_visit visit, void *context);
/* The same as a list, sorted by place, of all those of the core kernel, which are what they are
 * from boot on. Returns how many there are, which may be more than `max`. May sleep. */
struct djk_rewrite {
	unsigned long place, target;
	unsigned int kind;
};
size_t djk_list_rewritten(struct djk_rewrite *list, size_t max);
/* All kprobes of the kernel's own, whose handlers look at registers. */
void djk_visit_kprobes(djk_flow_visit visit, void *context);

/* Copy text; false when a byte is not readable. Does not sleep. Consistent only under
 * djk_text_lock(). */
bool djk_read(void *to, unsigned long address, size_t size);

/* Constants of this kernel for the analysis and the detours. */
struct djk_machine {
	unsigned short cs, ss;
	bool smap;
	bool no_jump_tables;
	unsigned int pad; /* bytes before each function that its callers run; 0: they do not */
	struct djk_extent indirect_thunks, return_thunks; /* what the compiler jumps to */
	struct djk_extent boot_thunks[2]; /* where boot may lead jumps to indirect thunks instead */
	/* Calls are counted, so that returns do not run out of what the CPU foresees (call depth
	 * tracking): a call that is made of a push and a jump is counted, and foreseen by nobody.
	 */
	bool counts_calls;
	/* Returns and indirect branches are safe only where they lie in a cache line (ITS): no
	 * copy is. Returns jump to return_thunk instead. */
	bool aligned_branches;
	unsigned long return_thunk;
	unsigned long hit_handler; /* bool (struct pt_regs *, struct djk_site *) */
	unsigned long slow_thunk;  /* see hit.h */
	unsigned long
		shadow_entry; /* void (struct pt_regs *, struct djk_handler *); reads sp only */
	/* What a program's direct call needs: per-CPU counters by their offset from %gs, 0 for
	 * none. Of int size: BPF programs and our handlers running, the preemption count. */
	int active, preempt_count;
	signed char mark;      /* added to `active` while our handlers run */
	unsigned long stats;   /* address of an int, not 0 while BPF statistics are taken */
	unsigned long resched; /* void (), when the preemption count has reached 0; or 0 */
};
void djk_get_machine(struct djk_machine *machine);

/* From now on djk_forbidden() says FRAGILE_TEXT there. They are the caller's. */
void djk_set_fragile(const struct djk_extent *ranges, size_t count);
/* Tell the log why the module does not load: this kernel has no symbol `name` (`of` what, or ""),
 * or what has that name calls neither of the two. */
void djk_lacks(const char *name, const char *of);
void djk_lacks_call(const char *name, const char *const callees[2]);

/* Keep the module that holds `address` from unloading; false: it is going. No-op for the kernel. */
bool djk_pin_target(unsigned long address);
void djk_unpin_target(unsigned long address);

/* ---- Kernel: handlers. ---- */

/* Who makes the handlers of a request's probes. */
struct djk_source;
struct djp_request;
/* One handler, for one probe of the request; NULL with the request's reason. */
struct djk_handler *djk_make_handler(const struct djk_source *source, struct djp_request *request);
/* Note where it was attached: the function whose entry (or return) this is, 0 within one. */
void djk_handler_set_function(struct djk_handler *probe, unsigned long function);
/* A handler that a detour may call itself: a BPF program. */
struct djk_program {
	const void *insns; /* struct bpf_insn, as the verifier has left them */
	size_t insn_count;
	unsigned long code; /* u64 (struct pt_regs *) */
	size_t code_size;
	long hits; /* its per-CPU counter, by the offset from %gs */
};
/* What runs at the site or, of a shadow, at the return. False: it must be called through
 * djk_machine.hit_handler. */
bool djk_handler_program(const struct djk_handler *probe, struct djk_program *program);
/* Its handler runs at returns; its site is the entry. */
bool djk_handler_is_shadow(const struct djk_handler *probe);
/* The same, and djk_machine.shadow_entry is all that there is to call at the site. */
bool djk_handler_enters_shadow(const struct djk_handler *probe);
/* Note that the program calls no helper that djk_needs_run_context() names. */
void djk_handler_set_plain(struct djk_handler *probe);
/* Whether a helper, named as the verifier has left it in a call, may read more than its arguments:
 * what only djk_machine.hit_handler prepares. False only for those that are known not to. */
bool djk_needs_run_context(int helper);
/* False: it overrides what the function returns, which is allowed at entries of some functions
 * only. */
bool djk_handler_may_be_at(const struct djk_handler *probe, unsigned long address, bool entry);
/* It is about to be linked to a site; it has left its site. Of one that runs at returns those of
 * calls that are under way are not seen any more. */
void djk_handler_start(struct djk_handler *probe);
void djk_handler_stop(struct djk_handler *probe);
/* Only after a quiescence since it was stopped: no CPU may still run it. */
void djk_handler_destroy(struct djk_handler *probe);
void djk_handler_count(const struct djk_handler *probe, unsigned long *hits,
		       unsigned long missed[8]);

/* ---- Kernel: the rest. ---- */
void djk_registry_lock(void);
void djk_registry_unlock(void);
void *djk_alloc(size_t size); /* zero-filled; NULL when out of memory */
void djk_free(void *memory);
void *djk_alloc_large(size_t size);
void djk_free_large(void *memory);
void djk_breathe(void); /* a place to reschedule in long loops */
/* How much a request does before it lets others have the registry lock: so many things that cost
 * about the same. Follows from how long the last ones took. */
struct djk_portion {
	unsigned int size;
	unsigned long long begun; /* the C side's */
};
void djk_portion_begin(struct djk_portion *portion);
/* Give the registry lock back and take it again, so that those who wait for it come first. */
void djk_registry_pause(struct djk_portion *portion);
bool djk_is_dying(void); /* the caller has been killed: give up what can be undone */
/* Have djp_optimizer_run() run soon, when the registry lock is free again. Under it. */
void djk_optimizer_kick(void);
void djk_optimizer_kick_later(void); /* the same after a second */
void djk_optimizer_done(void);	     /* wake those who wait for djp_is_settled() */
void djk_keep_module(void);	     /* one more reason not to unload us */
void djk_release_module(void);
void djk_warn(const char *what, unsigned long address);

/* ---- Policy: called by the C side. ---- */

/* What a request is about. */
enum djp_where {
	DJP_SITE,	  /* one instruction */
	DJP_RETURNS,	  /* every return instruction of a function */
	DJP_SHADOW_ENTRY, /* the entry of a function, where its return address can be replaced */
};

/* One site, or the returns of one function, as a caller names it. */
struct djp_request {
	const char *symbol;    /* or NULL */
	unsigned long offset;  /* from symbol */
	unsigned long address; /* in: without symbol; out: the IA, or the function's entry */
	enum djp_where where;
	const struct djk_source *source; /* of its probes' handlers */
	unsigned long cookie;
	bool int3_only;
	bool disabled;		 /* attach, but leave the text alone until djp_enable() */
	unsigned int reason;	 /* out: why not, or on success why not all of it gets a jump */
	unsigned long detail[2]; /* out */
};

/* Requests that are carried out together, all or none. */
struct djp_attachment {
	struct djp_request *requests;
	size_t count;
	/* Out, on success. The array is the caller's: djk_free_large(). */
	struct djp_probe **probes; /* at least one for each request, in their order */
	size_t probe_count;
	/* Out, on refusal. */
	size_t failed;	     /* the request at fault, which has the reason too; or count */
	unsigned int reason; /* INTERRUPTED: the caller has been killed */
	unsigned long detail[2];
};

struct djp_status {
	unsigned int state, mechanism, reason;
	unsigned long detail[2];
	unsigned long address, cookie, hits, missed[8];
	bool at_return, shadow;
	unsigned int tactic;
	unsigned long anchor;
	unsigned int displaced_len;
	unsigned char displaced[32];
};

/* The plan for a site that has not been touched. */
struct djp_verdict {
	unsigned int verdict, tactic, before;
	unsigned long anchor, board;
	unsigned int region_len;
	unsigned char region[32];
};

struct djp_probe; /* one attached probe */

int djp_start(void); /* 0, or a reason number; all undone on failure */
void djp_stop(void); /* every probe is detached, the optimizer's work is cancelled */
/* Attach all or none: on false everything is as it was. */
bool djp_attach(struct djp_attachment *attachment);
/* Decide as djp_attach() would, of several returns about the worst one; source, cookie and mode are
 * not looked at. False: there is no such place, see request->reason; else that is the verdict's
 * reason. */
bool djp_explain(struct djp_request *request, struct djp_verdict *verdict);
/* The handlers may still run until a quiescence that begins afterwards; they are destroyed then. */
void djp_detach(struct djp_probe *const *probes, size_t count);
/* Enable all or none: as djp_attach(), the reason and detail in *refused. For some probes one
 * caller at a time enables or disables. */
size_t djp_enable(struct djp_probe *const *probes, size_t count, struct djp_request *refused);
/* The handlers may still run until a quiescence that begins afterwards. */
void djp_disable(struct djp_probe *const *probes, size_t count);
void djp_query(struct djp_probe *const *probes, size_t count, struct djp_status *statuses);
const struct djk_handler *djp_handler(const struct djp_probe *probe);
/* All probes, newest first, until visit() says false; it is called under the registry lock, which
 * others have in between: who comes or goes meanwhile is seen or not. */
typedef bool (*djp_status_visit)(void *context, const struct djp_status *status);
void djp_list(djp_status_visit visit, void *context);
/* One caller at a time for each of the two. */
void djp_set_enabled(bool enabled); /* all of them; each keeps its own state besides */
bool djp_is_enabled(void);
void djp_set_optimization(bool optimization); /* off: int3 for all */
bool djp_is_optimization_on(void);
/* Under RCU: the site may go meanwhile. */
bool djp_is_settled(const struct djp_probe *probe);
void djp_optimizer_run(void);
void djp_module_gone(const struct djk_extent *text); /* its text is about to be freed */

#ifdef __cplusplus
}
#endif
#endif
