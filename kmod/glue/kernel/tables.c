// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel's tables say about the flow of control: exception tables, jump labels, static
 * calls, stored pointers.
 */
#include <linux/extable.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/sort.h>
#include <linux/static_call.h>
#include <asm/extable.h>

#include "imports.h"
#include "../kernel.h"
#include "module_text.h"
#include "text_of.h"

static const struct exception_table_entry *
first_fixup_from(const struct exception_table_entry *first, const struct exception_table_entry *end,
		 unsigned long address)
{
	/* The kernel sorts the table by instruction. */
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
	if (djk_is_core_text(begin))
		return any_fixup((const void *)djk_imports.__start___ex_table,
				 (const void *)djk_imports.__stop___ex_table, begin, end);
	preempt_disable();
	module = djk_text_module(begin);
	has = !module ||
	      any_fixup(module->extable, module->extable + module->num_exentries, begin, end);
	preempt_enable();
	return has;
}

struct flow {
	const struct jump_entry *label, *last_label;
	const struct static_call_site *call, *last_call;
};

static void visit_flow(const struct flow *flow, unsigned long begin, unsigned long end,
		       djk_flow_visit visit, void *context)
{
	const struct static_call_site *call;
	const struct jump_entry *label;
	unsigned long place;

	for (label = flow->label; label < flow->last_label; label++) {
		place = jump_entry_code(label);
		if (place >= begin && place < end)
			visit(context, DJK_FLOW_LABEL, place, jump_entry_target(label));
	}
	for (call = flow->call; call < flow->last_call; call++) {
		place = (unsigned long)&call->addr + call->addr;
		if (place >= begin && place < end)
			visit(context, DJK_FLOW_CALL, place, 0);
	}
}

void djk_visit_rewritten_near(unsigned long address, unsigned long begin, unsigned long end,
			      djk_flow_visit visit, void *context)
{
	const struct module *module;
	struct flow flow;

	if (djk_is_core_text(address)) {
		flow = (struct flow){ (const void *)djk_imports.__start___jump_table,
				      (const void *)djk_imports.__stop___jump_table,
				      (const void *)djk_imports.__start_static_call_sites,
				      (const void *)djk_imports.__stop_static_call_sites };
		visit_flow(&flow, begin, end, visit, context);
		return;
	}
	/* The caller has pinned the module. */
	preempt_disable();
	module = djk_text_module(address);
	if (module) {
		flow = (struct flow){ module->jump_entries,
				      module->jump_entries + module->num_jump_entries,
				      module->static_call_sites,
				      module->static_call_sites + module->num_static_call_sites };
		visit_flow(&flow, begin, end, visit, context);
	}
	preempt_enable();
}

void djk_visit_rewritten_flow(unsigned long address, djk_flow_visit visit, void *context)
{
	djk_visit_rewritten_near(address, 0, ULONG_MAX, visit, context);
}

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

/* Only for modules: the policy itself searches the core kernel's rodata. */
static void visit_pointers(struct djk_extent rodata, struct djk_extent text,
			   djk_landing_visit visit, void *context)
{
	const unsigned long *word = (const unsigned long *)ALIGN(rodata.begin, sizeof(*word));

	for (; word < (const unsigned long *)rodata.end; word++) {
		/* The whole section is read, with what lies between objects: KASAN's red zones. */
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
	module = djk_text_module(module_address);
	if (module) {
		visit_fixups(module->extable, module->extable + module->num_exentries, visit,
			     context);
		visit_labels(module->jump_entries, module->jump_entries + module->num_jump_entries,
			     visit, context);
		visit_pointers(djk_module_rodata(module), djk_module_text(module), visit, context);
	}
	preempt_enable();
}

struct rewrite_list {
	struct djk_rewrite *list;
	size_t count, max;
};

static void note_rewrite(void *context, unsigned int kind, unsigned long place,
			 unsigned long target)
{
	struct rewrite_list *const all = context;

	if (all->count < all->max)
		all->list[all->count] = (struct djk_rewrite){ place, target, kind };
	all->count++;
}

static int compare_places(const void *left, const void *right)
{
	const struct djk_rewrite *const first = left, *const second = right;

	return first->place < second->place ? -1 : first->place > second->place;
}

size_t djk_list_rewritten(struct djk_rewrite *list, size_t max)
{
	struct rewrite_list all = { list, 0, max };

	/* The kernel sorts these tables by their keys, and not by place. */
	djk_visit_rewritten_flow(djk_imports._stext, note_rewrite, &all);
	sort(list, min(all.count, max), sizeof(*list), compare_places, NULL);
	return all.count;
}
