// SPDX-License-Identifier: GPL-2.0
/* Making handlers of BPF programs and of functions in C, and giving them back. */
#include "make_handler.h"

#include <linux/bpf.h>
#include <linux/file.h>
#include <linux/filter.h>
#include <linux/ftrace.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "../../api/djprobe_api.h"
#include "../kernel/imports.h"
#include "../kernel/memory.h"
#include "actions.h"
#include "counter.h"
#include "handler.h"
#include "shadow.h"

static bool is_program(int fd)
{
	struct file *file = fget(fd);
	const bool program = file && file->f_op == (const void *)djk_imports.bpf_prog_fops;

	if (file)
		fput(file);
	return program;
}

static bool is_sleepable(const struct bpf_prog *prog)
{
#ifdef DJK_PROG_SLEEPABLE
	return prog->sleepable;
#else
	return prog->aux->sleepable;
#endif
}

static bool has_tail_call(const struct bpf_prog *prog)
{
	const struct bpf_insn *insn;

	for (insn = prog->insnsi; insn < prog->insnsi + prog->len; insn++)
		if (insn->code == (BPF_JMP | BPF_TAIL_CALL))
			return true;
	return false;
}

/*
 * From 6.18 on the verifier lets programs of this type write to the registers, for uprobes, and the
 * kernel refuses such a program where it attaches it to a kprobe: what runs here would return to
 * any address, with any stack. A program that overrides returns writes to them on all kernels, and
 * only some functions may be overridden. The kernel does not look at programs that a tail call
 * leads to, at any time: one with a tail call gets a copy of the registers. What overrides a return
 * itself needs the true ones.
 */
static bool leads_to_writers(const struct bpf_prog *prog)
{
#if !defined(DJK_PROG_WRITES) && !defined(CONFIG_BPF_KPROBE_OVERRIDE)
	return false;
#endif
	return !prog->kprobe_override && has_tail_call(prog);
}

static bool writes_registers(const struct bpf_prog *prog)
{
#ifdef DJK_PROG_WRITES
	return prog->aux->kprobe_write_ctx || (prog->kprobe_override && has_tail_call(prog));
#else
	return false;
#endif
}

/*
 * An extension (freplace) replaces a whole program. The verifier checks it as one of that kind, but
 * where the program needs no run context, and reads few registers, the extension would find
 * neither. The kernel refuses extensions of a program that may be called through a map, by the
 * count that prog_fd_array_get_ptr() raises; a handler raises it, too. False: the program is
 * extended already.
 */
#ifdef DJK_EXCLUDE_EXTENSIONS
static const bool excludes_extensions = true;
#else
static const bool excludes_extensions; /* every program gets context and registers */
#endif

static bool keep_extensions_off(struct bpf_prog *prog)
{
	bool extended = false;

#ifdef DJK_EXCLUDE_EXTENSIONS
	mutex_lock(&prog->aux->ext_mutex);
	extended = prog->aux->is_extended;
	if (!extended)
		prog->aux->prog_array_member_cnt++;
	mutex_unlock(&prog->aux->ext_mutex);
#endif
	return !extended;
}

static void give_back(struct bpf_prog *prog)
{
#ifdef DJK_EXCLUDE_EXTENSIONS
	mutex_lock(&prog->aux->ext_mutex);
	prog->aux->prog_array_member_cnt--;
	mutex_unlock(&prog->aux->ext_mutex);
#endif
	bpf_prog_put(prog);
}

/*
 * Whether the program may call the helper. After verification a call of a helper holds the helper's
 * distance from a base, and subprograms stand behind the program. A tail call may lead to any
 * program.
 */
static bool may_call(const struct bpf_prog *prog, const char *helper)
{
	const unsigned long address = djk_lookup(helper);
	const struct bpf_insn *insn;

	/* This kernel has another name for it: any call may be one of it. */
	if (!address)
		return true;
	for (insn = prog->insnsi; insn < prog->insnsi + prog->len; insn++)
		if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
		    djk_imports.__bpf_call_base + insn->imm == address)
			return true;
	return has_tail_call(prog);
}

static bool may_ask_where(const struct bpf_prog *prog)
{
	return may_call(prog, "bpf_get_func_ip_kprobe");
}

/*
 * kprobe.multi and its kin read their cookie and address from a context that only their own
 * attachment makes.
 */
static bool is_fit_attach_type(const struct bpf_prog *prog, enum djk_shown_as shown_as)
{
	if (shown_as != DJK_AS_MULTI)
		return !prog->expected_attach_type;
	return prog->expected_attach_type == BPF_TRACE_KPROBE_MULTI &&
	       !may_call(prog, "bpf_get_func_ip_kprobe_multi") &&
	       !may_call(prog, "bpf_get_attach_cookie_kprobe_multi");
}

static unsigned int refuse_program(const struct bpf_prog *prog, enum djk_shown_as shown_as,
				   unsigned long *detail)
{
	if (is_sleepable(prog))
		return DJPROBE_REASON_PROG_SLEEPABLE;
	if (writes_registers(prog))
		return DJPROBE_REASON_PROG_WRITES;
	if (is_fit_attach_type(prog, shown_as))
		return DJPROBE_REASON_NONE;
	*detail = prog->expected_attach_type;
	return DJPROBE_REASON_PROG_ATTACH_TYPE;
}

static struct djk_full_handler *new_handler(void)
{
	struct djk_full_handler *handler = kzalloc(sizeof(*handler), GFP_KERNEL);

	if (!handler)
		return NULL;
	handler->needs_context = true;
	handler->counters = alloc_percpu(struct djk_counters);
	if (handler->counters)
		return handler;
	kfree(handler);
	return NULL;
}

/* Take a reference to a program, for give_back(). NULL with the reason. */
static struct bpf_prog *take_program(int prog_fd, enum djk_shown_as shown_as, unsigned int *reason,
				     unsigned long *detail)
{
	struct bpf_prog *prog = bpf_prog_get_type_dev(prog_fd, BPF_PROG_TYPE_KPROBE, false);

	if (IS_ERR(prog)) {
		*reason = is_program(prog_fd) ? DJPROBE_REASON_PROG_TYPE : DJPROBE_REASON_PROG_FD;
		return NULL;
	}
	*reason = refuse_program(prog, shown_as, detail);
	if (!*reason && !keep_extensions_off(prog))
		*reason = DJPROBE_REASON_PROG_EXTENDED;
	if (!*reason)
		return prog;
	bpf_prog_put(prog);
	return NULL;
}

/* Let the handler run at returns: give it instances, and a session its other program. False with
 * the request's reason. */
static bool make_shadow(struct djk_full_handler *handler, const struct djk_program_source *source,
			struct djp_request *request)
{
	if (source->entry_fd) {
		handler->entry_prog = take_program(*source->entry_fd, source->shown_as,
						   &request->reason, request->detail);
		if (!handler->entry_prog)
			return false;
		handler->begins = true;
		handler->asks_where |= may_ask_where(handler->entry_prog);
		handler->copies |= leads_to_writers(handler->entry_prog);
		request->reason = DJPROBE_REASON_PROG_OVERRIDE;
		if (handler->entry_prog->kprobe_override)
			return false;
	}
	request->reason = DJPROBE_REASON_NO_MEMORY;
	handler->shadow = djk_shadow_create(
		handler, handler->begins ? sizeof(struct djk_session_call) : 0, 0, source->shadows);
	if (handler->shadow)
		request->reason = DJPROBE_REASON_NONE;
	return handler->shadow;
}

static struct djk_handler *make_of_program(const struct djk_source *base,
					   struct djp_request *request)
{
	const struct djk_program_source *const source =
		container_of(base, struct djk_program_source, source);
	struct bpf_prog *const prog =
		take_program(source->fd, source->shown_as, &request->reason, request->detail);
	struct djk_full_handler *handler;

	if (!prog)
		return NULL;
	handler = new_handler();
	if (!handler) {
		request->reason = DJPROBE_REASON_NO_MEMORY;
		give_back(prog);
		return NULL;
	}
	handler->prog = prog;
	handler->actions = djk_actions_get(source->conditions);
	handler->cookie = request->cookie;
	handler->asks_where = may_ask_where(prog);
	handler->copies = leads_to_writers(prog);
	handler->as_kprobe = source->shown_as == DJK_AS_KPROBE && request->where == DJP_SITE;
	handler->inside = handler->as_kprobe && request->inside;
	handler->as_returned = source->shown_as != DJK_AS_PROBE && request->where == DJP_RETURNS;
	/* bpf_override_return() makes the function return at once. */
	handler->link.wants = prog->kprobe_override ? DJK_WANTS_REDIRECT : 0;
	if (request->where != DJP_SHADOW_ENTRY || make_shadow(handler, source, request))
		return &handler->link;
	djk_handler_destroy(&handler->link);
	return NULL;
}

struct djk_program_source djk_source_of_program(int fd, const int *entry_fd, size_t shadows)
{
	return (struct djk_program_source){ { make_of_program }, fd,  entry_fd, shadows,
					    DJK_AS_PROBE,	 NULL };
}

static struct djk_handler *make_of_c(const struct djk_source *base, struct djp_request *request)
{
	struct djprobe *const probe = container_of(base, struct djk_c_source, source)->probe;
	struct djk_full_handler *const handler = new_handler();

	if (!handler) {
		request->reason = DJPROBE_REASON_NO_MEMORY;
		return NULL;
	}
	handler->c_probe = probe;
	handler->link.wants = DJK_WANTS_REDIRECT | (probe->post_handler ? DJK_WANTS_AFTER : 0);
	return &handler->link;
}

struct djk_c_source djk_source_of_c(struct djprobe *probe)
{
	return (struct djk_c_source){ { make_of_c }, .probe = probe };
}

static struct djk_handler *make_of_c_return(const struct djk_source *base,
					    struct djp_request *request)
{
	struct djretprobe *const probe = container_of(base, struct djk_c_source, source)->at_return;
	struct djk_full_handler *const handler = new_handler();

	request->reason = DJPROBE_REASON_NO_MEMORY;
	if (!handler)
		return NULL;
	handler->c_return = probe;
	handler->begins = probe->entry_handler;
	handler->shadow = djk_shadow_create(handler, probe->data_size, probe->maxactive, 1);
	if (!handler->shadow) {
		djk_handler_destroy(&handler->link);
		return NULL;
	}
	request->reason = DJPROBE_REASON_NONE;
	return &handler->link;
}

struct djk_c_source djk_source_of_c_return(struct djretprobe *probe)
{
	return (struct djk_c_source){ { make_of_c_return }, .at_return = probe };
}

struct djk_handler *djk_make_handler(const struct djk_source *source, struct djp_request *request)
{
	return source->make(source, request);
}

bool djk_handler_program(const struct djk_handler *link, struct djk_program *program)
{
	const struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);
	const struct bpf_prog *prog;

	/*
	 * With lock debugging, helpers check that rcu_read_lock() was called: to have preemption
	 * off is not enough. insnsi holds neither subprograms nor an extension.
	 */
	if (!djk_runs(handler) || !handler->prog)
		return false;
	prog = handler->prog;
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC) || !excludes_extensions || !prog->jited ||
	    prog->aux->func_cnt)
		return false;
	program->insns = prog->insnsi;
	program->insn_count = prog->len;
	program->code = (unsigned long)prog->bpf_func;
	program->code_size = prog->jited_len;
	program->hits = (long)&handler->counters->hits;
	return true;
}

bool djk_handler_shows_other(const struct djk_handler *link)
{
	const struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	return djk_runs(handler) && (handler->as_kprobe || handler->as_returned);
}

void djk_handler_show_own(struct djk_handler *link)
{
	struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	handler->as_kprobe = handler->as_returned = false;
}

void djk_handler_set_plain(struct djk_handler *link)
{
	struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	handler->needs_context = false;
	/* In shadow mode it does not run at the site. */
	handler->link.plain =
		!handler->shadow && !handler->actions && !djk_handler_shows_other(link);
}

bool djk_handler_may_be_at(const struct djk_handler *link, unsigned long address, bool entry)
{
	const struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);
	unsigned long list;

	if (!djk_runs(handler) || !handler->prog || !handler->prog->kprobe_override)
		return true;
	/* A kernel without error injection has no such list. */
	list = djk_lookup("within_error_injection_list");
	return entry && list && djk_bool(djk_call(list, address, 0, 0, 0, 0));
}

/* A kprobe of the kernel's own at a function goes to its ftrace call, if it has one. */
static unsigned long ip_at_kprobe(unsigned long function)
{
	const unsigned long entry = djk_function_entry(function);

	return (djk_is_compiled(function) ? entry - MCOUNT_INSN_SIZE : entry) + 1;
}

void djk_handler_set_function(struct djk_handler *link, unsigned long function)
{
	struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	if (!djk_runs(handler))
		return;
	if (handler->inside)
		function = 0;
	handler->identity.addr = (kprobe_opcode_t *)function;
	handler->identity.flags = function ? KPROBE_FLAG_ON_FUNC_ENTRY : 0;
	handler->shown_ip = function ? ip_at_kprobe(function) : 0;
}

bool djk_handler_is_shadow(const struct djk_handler *link)
{
	const struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	return djk_runs(handler) && handler->shadow;
}

bool djk_handler_enters_shadow(const struct djk_handler *link)
{
	const struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	/* A handler that looks at a call when it begins wants all registers. */
	return djk_runs(handler) && handler->shadow && !handler->begins;
}

void djk_handler_start(struct djk_handler *link)
{
	struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	if (djk_runs(handler) && handler->shadow)
		djk_shadow_start(handler->shadow);
}

void djk_handler_stop(struct djk_handler *link)
{
	struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	if (djk_runs(handler) && handler->shadow)
		djk_shadow_stop(handler->shadow);
}

void djk_handler_destroy(struct djk_handler *link)
{
	struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	djk_actions_put(handler->actions);
	if (!djk_runs(handler)) {
		bpf_map_put(handler->map);
		djk_free_counter(handler);
		return;
	}
	if (handler->shadow)
		djk_shadow_destroy(handler->shadow);
	if (handler->prog)
		give_back(handler->prog);
	if (handler->entry_prog)
		give_back(handler->entry_prog);
	free_percpu(handler->counters);
	kfree(handler);
}

void djk_handler_show(const struct djk_handler *link, struct seq_file *out)
{
	const struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);

	if (!djk_runs(handler)) {
		seq_printf(out, "map_id:\t%u\n", handler->map->id);
		return;
	}
	if (handler->prog)
		seq_printf(out, "prog_id:\t%u\n", handler->prog->aux->id);
	if (handler->entry_prog)
		seq_printf(out, "entry_prog_id:\t%u\n", handler->entry_prog->aux->id);
}

void djk_handler_count(const struct djk_handler *link, unsigned long *hits, unsigned long missed[8])
{
	const struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);
	int cpu, cause;

	*hits = 0;
	memset(missed, 0, 8 * sizeof(*missed));
	if (link->counter) {
		*hits = djk_sum_counter(handler);
		return;
	}
	for_each_possible_cpu(cpu)
	{
		const struct djk_counters *counters = per_cpu_ptr(handler->counters, cpu);

		*hits += READ_ONCE(counters->hits);
		for (cause = 0; cause < DJPROBE_MISS_KINDS; cause++)
			missed[cause] += READ_ONCE(counters->missed[cause]);
	}
}
