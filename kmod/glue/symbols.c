// SPDX-License-Identifier: GPL-2.0
/* Names and extents of text. */
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../arch/x86/no_return_names.h"
#include "imports.h"
#include "kernel.h"
#include "module_text.h"
#include "shadow.h"
#include "text_of.h"

struct matches {
	unsigned int count;
	unsigned long address[2];
};

static int count_match(void *context, unsigned long address)
{
	struct matches *matches = context;

	if (!djk_is_core_text(address) && !djk_is_init_text(address))
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

struct places {
	unsigned long *addresses;
	size_t count, max;
};

static int add_place(void *context, unsigned long address)
{
	struct places *places = context;

	if (places->count < places->max)
		places->addresses[places->count] = address;
	places->count++;
	return 0;
}

size_t djk_find_symbols(const char *name, unsigned long *addresses, size_t max)
{
	struct places places = { addresses, 0, max };

	djk_call3(kallsyms_on_each_match_symbol, add_place, name, &places);
	/* Not for what compiler and build make of a name: each look-up reads all modules' symbols. */
	if (!places.count && max && !strchr(name, '.') && !strstarts(name, "__pi_")) {
		addresses[0] = djk_lookup(name);
		places.count = !!addresses[0];
	}
	return places.count;
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

unsigned int djk_unshadowable(unsigned long function)
{
	/* The kernel's own list for kretprobes: who changes `current`, and with it the list of what
	 * was replaced. */
	const struct kretprobe_blackpoint *point = (void *)djk_lookup("kretprobe_blacklist");
	size_t i;

	if (!djk_shadow_is_there())
		return DJPROBE_REASON_NO_SHADOW;
	for (; point && point->name; point++)
		if (point->addr == (void *)function || djk_lookup(point->name) == function)
			return DJPROBE_REASON_SPECIAL_RETURN;
	for (i = 0; i < ARRAY_SIZE(djprobe_no_return); i++)
		if (djk_lookup(djprobe_no_return[i]) == function)
			return DJPROBE_REASON_SPECIAL_RETURN;
	return DJPROBE_REASON_NONE;
}

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

	if (djk_is_core_text(address)) {
		djk_core_text_extent(text);
		return true;
	}
	preempt_disable();
	module = djk_text_module(address);
	if (module)
		*text = djk_module_text(module);
	preempt_enable();
	return module;
}

bool djk_pin_target(unsigned long address)
{
	struct module *module;
	bool pinned = true;

	if (djk_is_core_text(address))
		return true;
	preempt_disable();
	module = djk_text_module(address);
	/* Init text goes while the module stays: nobody could unpin it by that address. */
	pinned = module && module->state == MODULE_STATE_LIVE &&
		 !within_module_init(address, module) && try_module_get(module);
	preempt_enable();
	return pinned;
}

void djk_unpin_target(unsigned long address)
{
	struct module *module;

	if (djk_is_core_text(address))
		return;
	preempt_disable();
	module = djk_text_module(address);
	preempt_enable();
	module_put(module);
}
