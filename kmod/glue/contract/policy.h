/* SPDX-License-Identifier: GPL-2.0 */
/* Policy: what the C side calls. */
#ifndef DJPROBE_KMOD_CONTRACT_POLICY_H
#define DJPROBE_KMOD_CONTRACT_POLICY_H

#include "../../../uapi/djprobe_reason.h"
#include "handlers.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

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
/* Off: every site is at int3 and stays there. False: memory is too short for that, and jumps stay
 * on. */
bool djp_set_optimization(bool optimization);
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
