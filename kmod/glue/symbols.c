// SPDX-License-Identifier: GPL-2.0
/* Names, extents, and what the kernel knows about its own text. */
#include <linux/bug.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <asm/extable.h>

#include "../../arch/x86/trap_names.h"
#include "imports.h"
#include "kernel.h"
#include "module_text.h"

/* As kernel/kprobes.c has had since 2.6.10. */
#define KPROBE_BUCKETS (1 << 6)

static struct module *text_module(unsigned long address)
{
	/* The caller has disabled preemption, which is what keeps the module there. */
	return (struct module *)djk_call1(__module_text_address, address);
}

static bool within(unsigned long address, unsigned long begin, unsigned long end)
{
	return address >= begin && address < end;
}

static bool is_core_text(unsigned long address)
{
	return djk_int(djk_call1(core_kernel_text, address));
}

static bool is_init_text(unsigned long address)
{
	return within(address, djk_imports._sinittext, djk_imports._einittext);
}

/* ---- Names ---- */

struct matches {
	unsigned int count;
	unsigned long address[2];
};

static int count_match(void *context, unsigned long address)
{
	struct matches *matches = context;

	if (!is_core_text(address) && !is_init_text(address))
		return 0;
	if (matches->count < 2)
		matches->address[matches->count] = address;
	matches->count++;
	return 0;
}

unsigned int djk_symbol_find(const char *name, unsigned long *address, unsigned long other[2])
{
	struct matches matches = {};

	if (!strchr(name, ':'))
		djk_call3(kallsyms_on_each_match_symbol, count_match, name, &matches);
	if (matches.count > 1) {
		other[0] = matches.address[0];
		other[1] = matches.address[1];
		return DJPROBE_REASON_AMBIGUOUS_SYMBOL;
	}
	/* What the kernel itself does not have may be a module's, "MODULE:NAME" anyway. */
	*address = matches.count ? matches.address[0] : djk_lookup(name);
	if (!*address)
		return DJPROBE_REASON_NO_SUCH_SYMBOL;
	return DJPROBE_REASON_NONE;
}

bool djk_symbol_range(unsigned long address, unsigned long *start, unsigned long *size)
{
	unsigned long offset;

	if (!djk_int(djk_call3(kallsyms_lookup_size_offset, address, size, &offset)))
		return false;
	*start = address - offset;
	return true;
}

void djk_symbol_name(unsigned long address, char *name, char *module, unsigned long *offset)
{
	unsigned long size;
	char *owner = NULL;
	const char *symbol;

	*offset = 0;
	*module = 0;
	preempt_disable();
	symbol = (const char *)djk_call5(kallsyms_lookup, address, &size, offset, &owner, name);
	if (!symbol)
		*name = 0;
	else if (symbol != name)
		strscpy(name, symbol, KSYM_NAME_LEN);
	if (symbol && owner)
		strscpy(module, owner, MODULE_NAME_LEN);
	preempt_enable();
}

unsigned long djk_function_entry(unsigned long function)
{
	const unsigned long ftrace_call = djk_call1(ftrace_location, function);
	static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned char bytes[4];

	if (ftrace_call)
		return ftrace_call + MCOUNT_INSN_SIZE;
	if (djk_read(bytes, function, 4) && !memcmp(bytes, endbr64, 4))
		return function + 4;
	return function;
}

/* ---- Facts about addresses ---- */

unsigned int djk_forbidden(unsigned long address)
{
	unsigned int reason = DJPROBE_REASON_NONE;
	struct module *module;

	if (is_init_text(address))
		return DJPROBE_REASON_INIT_TEXT;
	if (within_module_core(address, THIS_MODULE) || within_module_init(address, THIS_MODULE))
		return DJPROBE_REASON_OWN_TEXT;
	if (!is_core_text(address)) {
		preempt_disable();
		module = text_module(address);
		if (!module)
			reason = DJPROBE_REASON_NOT_TEXT;
		else if (within_module_init(address, module))
			reason = DJPROBE_REASON_INIT_TEXT;
		preempt_enable();
		if (reason)
			return reason;
	}
	if (within(address, djk_imports.__cpuidle_text_start, djk_imports.__cpuidle_text_end))
		return DJPROBE_REASON_IDLE_TEXT;
	/* Trampolines: when the call changes, the kernel BUGs on bytes that it did not write. */
	if (within(address, djk_imports.__static_call_text_start,
		   djk_imports.__static_call_text_end))
		return DJPROBE_REASON_STATIC_CALL;
	if (djk_bool(djk_call1(within_kprobe_blacklist, address)))
		return DJPROBE_REASON_BLACKLISTED;
	return DJPROBE_REASON_NONE;
}

/* Patched by the kernel at will. */
static unsigned int patched_by_kernel(unsigned long begin, unsigned long end)
{
	if (djk_call2(ftrace_location_range, begin, end - 1))
		return DJPROBE_REASON_FTRACE_SITE;
	/* The only one that takes the end as exclusive. */
	if (djk_int(djk_call2(alternatives_text_reserved, begin, end)))
		return DJPROBE_REASON_ALTERNATIVE;
	return DJPROBE_REASON_NONE;
}

/* The same, searched one by one, and with a decoder: slow. */
static unsigned int rewritten_by_kernel(unsigned long address)
{
	if (djk_int(djk_call2(jump_label_text_reserved, address, address)))
		return DJPROBE_REASON_JUMP_LABEL;
	if (djk_int(djk_call2(static_call_text_reserved, address, address)))
		return DJPROBE_REASON_STATIC_CALL;
	return DJPROBE_REASON_NONE;
}

/* A trap is a ud0, ud1 or ud2; that spares most addresses another linear search. */
static bool is_bug(unsigned long address)
{
	const unsigned char prefix = 0x67;
	unsigned char bytes[3], *opcode = bytes;

	if (!djk_read(bytes, address, 3))
		return false;
	opcode += *opcode == prefix;
	if (opcode[0] != 0x0f || (opcode[1] != 0x0b && opcode[1] != 0xb9 && opcode[1] != 0xff))
		return false;
	return djk_call1(find_bug, address);
}

static unsigned int reserved_byte(unsigned long address, bool patched, bool rewritten)
{
	unsigned int reason = patched ? patched_by_kernel(address, address + 1) : 0;

	if (!reason && rewritten)
		reason = rewritten_by_kernel(address);
	if (reason)
		return reason;
	if (is_bug(address))
		return DJPROBE_REASON_BUG_SITE;
	if (djk_call1(search_exception_tables, address))
		return DJPROBE_REASON_EXTABLE_INSN;
	if (djk_call1(get_kprobe, address))
		return DJPROBE_REASON_FOREIGN_PATCH;
	return DJPROBE_REASON_NONE;
}

void djk_reserved(unsigned long address, unsigned char *reasons, size_t count)
{
	/* Most stretches of text hold nothing that the kernel patches: ask byte by byte elsewhere.
	 */
	const size_t stretch = 16;
	struct mutex *const text_mutex = (struct mutex *)djk_imports.text_mutex;
	bool patched = false;
	size_t i;

	djk_call0(jump_label_lock);
	/* Not djk_text_lock(): kprobe_mutex is outside of jump_label_mutex. */
	mutex_lock(text_mutex);
	preempt_disable();
	for (i = 0; i < count; i++) {
		if (i % stretch == 0)
			patched = patched_by_kernel(address + i, address + min(i + stretch, count));
		reasons[i] = reserved_byte(address + i, patched, reasons[i]);
	}
	preempt_enable();
	mutex_unlock(text_mutex);
	djk_call0(jump_label_unlock);
}

bool djk_has_kprobe(unsigned long address)
{
	bool found;

	preempt_disable();
	found = djk_call1(get_kprobe, address);
	preempt_enable();
	return found;
}

bool djk_recover_foreign(unsigned long address, unsigned char bytes[16])
{
	unsigned long recovered = 0;

	preempt_disable();
	if (djk_call1(get_kprobe, address))
		recovered = djk_call2(recover_probed_instruction, bytes, address);
	preempt_enable();
	/* Kprobes that patched nothing (disabled, or on the ftrace call) answer with the text
	 * itself. */
	return recovered && recovered != address;
}

size_t djk_list_kprobes(unsigned long *addresses, size_t max)
{
	const struct hlist_head *table = (const struct hlist_head *)djk_imports.kprobe_table;
	const struct kprobe *probe;
	size_t count = 0, i;

	preempt_disable();
	for (i = 0; i < KPROBE_BUCKETS; i++) {
		hlist_for_each_entry_rcu(probe, &table[i], hlist)
		{
			if (count < max)
				addresses[count] = (unsigned long)probe->addr;
			count++;
		}
	}
	preempt_enable();
	return count;
}

/* ---- Extents ---- */

void djk_core_text_extent(struct djk_extent *text)
{
	text->begin = djk_imports._stext;
	text->end = djk_imports._etext;
}

void djk_core_rodata_extent(struct djk_extent *rodata)
{
	rodata->begin = djk_imports.__start_rodata;
	rodata->end = djk_imports.__end_rodata;
}

bool djk_text_extent(unsigned long address, struct djk_extent *text)
{
	struct module *module;

	if (is_core_text(address)) {
		djk_core_text_extent(text);
		return true;
	}
	preempt_disable();
	module = text_module(address);
	if (module)
		*text = djk_module_text(module);
	preempt_enable();
	return module;
}

/* ---- Flow ---- */

bool djk_is_compiled(unsigned long function)
{
	return djk_call1(ftrace_location, function);
}

bool djk_is_part(unsigned long symbol)
{
	char *name = kmalloc(KSYM_NAME_LEN + MODULE_NAME_LEN, GFP_KERNEL);
	unsigned long offset;
	bool part = false;

	if (!name)
		return false;
	djk_symbol_name(symbol, name, name + KSYM_NAME_LEN, &offset);
	part = !offset && strstr(name, ".cold");
	kfree(name);
	return part;
}

static const struct exception_table_entry *
first_fixup_from(const struct exception_table_entry *first, const struct exception_table_entry *end,
		 unsigned long address)
{
	/* Sorted by instruction. */
	while (first < end) {
		const struct exception_table_entry *middle = first + (end - first) / 2;

		if ((unsigned long)&middle->insn + middle->insn < address)
			first = middle + 1;
		else
			end = middle;
	}
	return end;
}

static bool any_fixup(const struct exception_table_entry *first,
		      const struct exception_table_entry *end, unsigned long low,
		      unsigned long high)
{
	const struct exception_table_entry *entry = first_fixup_from(first, end, low);

	return entry < end && (unsigned long)&entry->insn + entry->insn < high;
}

bool djk_has_fixups(unsigned long begin, unsigned long end)
{
	const struct module *module;
	bool has;

	if (begin >= end)
		return false;
	if (is_core_text(begin))
		return any_fixup((const void *)djk_imports.__start___ex_table,
				 (const void *)djk_imports.__stop___ex_table, begin, end);
	preempt_disable();
	module = text_module(begin);
	has = !module ||
	      any_fixup(module->extable, module->extable + module->num_exentries, begin, end);
	preempt_enable();
	return has;
}

static void visit_flow(const struct jump_entry *label, const struct jump_entry *last_label,
		       const struct static_call_site *call,
		       const struct static_call_site *last_call, djk_flow_visit visit,
		       void *context)
{
	for (; label < last_label; label++)
		visit(context, DJK_FLOW_LABEL, jump_entry_code(label), jump_entry_target(label));
	for (; call < last_call; call++)
		visit(context, DJK_FLOW_CALL, (unsigned long)&call->addr + call->addr, 0);
}

void djk_visit_rewritten_flow(unsigned long address, djk_flow_visit visit, void *context)
{
	const struct module *module;

	if (is_core_text(address)) {
		visit_flow((const void *)djk_imports.__start___jump_table,
			   (const void *)djk_imports.__stop___jump_table,
			   (const void *)djk_imports.__start_static_call_sites,
			   (const void *)djk_imports.__stop_static_call_sites, visit, context);
		return;
	}
	/* The caller has pinned the module. */
	preempt_disable();
	module = text_module(address);
	if (module)
		visit_flow(module->jump_entries, module->jump_entries + module->num_jump_entries,
			   module->static_call_sites,
			   module->static_call_sites + module->num_static_call_sites, visit,
			   context);
	preempt_enable();
}

void djk_visit_kprobes(unsigned long address, djk_flow_visit visit, void *context)
{
	const struct hlist_head *table = (const struct hlist_head *)djk_imports.kprobe_table;
	const struct kprobe *probe;
	size_t i;

	preempt_disable();
	for (i = 0; i < KPROBE_BUCKETS; i++)
		hlist_for_each_entry_rcu(probe, &table[i], hlist)
			visit(context, DJK_FLOW_UNKNOWN, (unsigned long)probe->addr, 0);
	preempt_enable();
}

/* ---- Landings ---- */

static void visit_fixups(const struct exception_table_entry *entry,
			 const struct exception_table_entry *end, djk_landing_visit visit,
			 void *context)
{
	for (; entry < end; entry++)
		visit(context, DJPROBE_REASON_FIXUP_INTO_REGION, 0,
		      (unsigned long)&entry->fixup + entry->fixup);
}

static void visit_labels(const struct jump_entry *entry, const struct jump_entry *end,
			 djk_landing_visit visit, void *context)
{
	for (; entry < end; entry++)
		visit(context, DJPROBE_REASON_LABEL_INTO_REGION, jump_entry_code(entry),
		      jump_entry_target(entry));
}

/* Of the core kernel the policy looks by itself. */
static void visit_pointers(struct djk_extent rodata, struct djk_extent text,
			   djk_landing_visit visit, void *context)
{
	const unsigned long *word = (const unsigned long *)ALIGN(rodata.begin, sizeof(*word));

	for (; word < (const unsigned long *)rodata.end; word++) {
		/* All of it, what lies between the objects (KASAN's red zones) included. */
		const unsigned long pointer = READ_ONCE_NOCHECK(*word);

		if (pointer >= text.begin && pointer < text.end)
			visit(context, DJPROBE_REASON_POINTER_INTO_REGION, (unsigned long)word,
			      pointer);
	}
}

void djk_visit_landings(unsigned long module_address, djk_landing_visit visit, void *context)
{
	const struct module *module;

	if (!module_address) {
		visit_fixups((const void *)djk_imports.__start___ex_table,
			     (const void *)djk_imports.__stop___ex_table, visit, context);
		visit_labels((const void *)djk_imports.__start___jump_table,
			     (const void *)djk_imports.__stop___jump_table, visit, context);
		return;
	}
	/* The caller has pinned the module. */
	preempt_disable();
	module = text_module(module_address);
	if (module) {
		visit_fixups(module->extable, module->extable + module->num_exentries, visit,
			     context);
		visit_labels(module->jump_entries, module->jump_entries + module->num_jump_entries,
			     visit, context);
		visit_pointers(djk_module_rodata(module), djk_module_text(module), visit, context);
	}
	preempt_enable();
}

void djk_visit_rewritten(djk_place_visit visit, void *context)
{
	const struct jump_entry *label = (const void *)djk_imports.__start___jump_table;
	const struct jump_entry *last_label = (const void *)djk_imports.__stop___jump_table;
	const struct static_call_site *call = (const void *)djk_imports.__start_static_call_sites;
	const struct static_call_site *last_call =
		(const void *)djk_imports.__stop_static_call_sites;

	for (; label < last_label; label++)
		visit(context, jump_entry_code(label));
	for (; call < last_call; call++)
		visit(context, (unsigned long)&call->addr + call->addr);
}

/* ---- Targets ---- */

bool djk_pin_target(unsigned long address)
{
	struct module *module;
	bool pinned = true;

	if (is_core_text(address))
		return true;
	preempt_disable();
	module = text_module(address);
	pinned = module && module->state == MODULE_STATE_LIVE && try_module_get(module);
	preempt_enable();
	return pinned;
}

void djk_unpin_target(unsigned long address)
{
	struct module *module;

	if (is_core_text(address))
		return;
	preempt_disable();
	module = text_module(address);
	preempt_enable();
	module_put(module);
}

/* ---- The trap path ---- */

size_t djk_trap_roots(unsigned long *addresses, size_t max)
{
	const struct notifier_block *block;
	size_t count = 0;

	for (; count < ARRAY_SIZE(djprobe_trap_roots); count++) {
		addresses[count] = djk_lookup(djprobe_trap_roots[count]);
		if (!addresses[count]) {
			pr_err("this kernel has no %s: its int3 path is not known\n",
			       djprobe_trap_roots[count]);
			return 0;
		}
	}
	/* Whoever stands before us in the chain runs before us. */
	rcu_read_lock();
	block = rcu_dereference(((struct atomic_notifier_head *)djk_imports.die_chain)->head);
	for (; block && block->priority == INT_MAX; block = rcu_dereference(block->next))
		if (count < max)
			addresses[count++] = (unsigned long)block->notifier_call;
	rcu_read_unlock();
	return count;
}

bool djk_trap_leaf(unsigned long function)
{
	char *name = kmalloc(KSYM_NAME_LEN + MODULE_NAME_LEN, GFP_KERNEL);
	unsigned long offset;
	bool leaf = false;
	size_t i;

	if (!name)
		return false;
	djk_symbol_name(function, name, name + KSYM_NAME_LEN, &offset);
	for (i = 0; i < ARRAY_SIZE(djprobe_trap_leaves); i++)
		leaf |= !strcmp(name, djprobe_trap_leaves[i]);
	leaf |= strstr(name, DJPROBE_TRAP_LEAF_PART) || strstarts(name, DJPROBE_TRAP_LEAF_PREFIX);
	kfree(name);
	return leaf;
}
