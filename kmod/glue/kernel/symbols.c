// SPDX-License-Identifier: GPL-2.0
/* Names and extents of text. */
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "imports.h"
#include "../kernel.h"
#include "module_text.h"
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
	/* A symbol that the core kernel lacks may be a module's, as "MODULE:NAME" is in any case.
	 */
	*address = matches.count ? matches.address[0] : djk_lookup_anywhere(name);
	if (!*address)
		return DJPROBE_REASON_NO_SUCH_SYMBOL;
	return DJPROBE_REASON_NONE;
}

/* A function begins with an endbr64, or what is left of one, and its call of ftrace: these bytes.
 */
#define OWN_CALL_END (4 + MCOUNT_INSN_SIZE)

/*
 * A weak function that the linker has overridden leaves its code and its call of ftrace, but no
 * symbol: kallsyms counts them to the function before. So each such call begins a range of its own.
 */
static void leave_out_nameless(unsigned long address, unsigned long *start, unsigned long *size)
{
	const unsigned long symbol = *start;
	unsigned long end = symbol + *size, low = symbol + OWN_CALL_END, call;

	if (end <= low)
		return;
	/* ftrace_location_range() finds any one call within a range. */
	while (low <= address && (call = djk_call2(ftrace_location_range, low, address))) {
		*start = call;
		low = call + MCOUNT_INSN_SIZE;
	}
	low = max(low, address + 1);
	while (low < end && (call = djk_call2(ftrace_location_range, low, end - 1)))
		end = call;
	*size = end - *start;
}

size_t djk_find_symbols(const char *name, unsigned long *addresses, size_t max)
{
	size_t count = djk_lookup_all(name, addresses, max);

	/* Modules are not asked for the forms that compiler and build make of a name, because each
	 * look-up reads the symbols of all modules. */
	if (!count && max && !strchr(name, '.') && !strstarts(name, "__pi_")) {
		addresses[0] = djk_lookup_anywhere(name);
		count = !!addresses[0];
	}
	return count;
}

/* The extent of the function that holds an address. */
struct found {
	unsigned long start, end;
	bool named; /* it begins with its symbol */
};

static bool find_extent(unsigned long address, struct found *found)
{
	unsigned long size, offset, start;

	if (!djk_int(djk_call3(kallsyms_lookup_size_offset, address, &size, &offset)))
		return false;
	start = address - offset;
	leave_out_nameless(address, &start, &size);
	*found = (struct found){ start, start + size, start == address - offset };
	return true;
}

/*
 * One function is asked about many times in a row, and each answer takes searches in three tables.
 * What the kernel says about its own text does not change after boot; modules come and go.
 */
#define LAST_FOUND 4
struct last_found {
	struct found found[LAST_FOUND];
	unsigned int next;
};
static DEFINE_PER_CPU(struct last_found, last_found);

static bool recall(unsigned long address, struct found *found)
{
	const struct last_found *const last = get_cpu_ptr(&last_found);
	bool known = false;
	int i;

	for (i = 0; i < LAST_FOUND && !known; i++) {
		known = address >= last->found[i].start && address < last->found[i].end;
		if (known)
			*found = last->found[i];
	}
	put_cpu_ptr(&last_found);
	return known;
}

static void remember(const struct found *found)
{
	struct last_found *const last = get_cpu_ptr(&last_found);

	last->found[last->next++ % LAST_FOUND] = *found;
	put_cpu_ptr(&last_found);
}

static bool find_function(unsigned long address, struct found *found)
{
	const bool lasting = djk_is_core_text(address);

	if (lasting && recall(address, found))
		return true;
	if (!find_extent(address, found))
		return false;
	if (lasting)
		remember(found);
	return true;
}

bool djk_symbol_range(unsigned long address, unsigned long *start, unsigned long *size)
{
	struct found found;

	if (!find_function(address, &found))
		return false;
	*start = found.start;
	*size = found.end - found.start;
	return true;
}

bool djk_has_name(unsigned long address)
{
	struct found found;

	return find_function(address, &found) && found.named;
}

/* The function's own ftrace call, and not that of a nameless function behind it. */
static unsigned long own_ftrace_call(unsigned long function)
{
	return djk_call1(ftrace_location, function + OWN_CALL_END - MCOUNT_INSN_SIZE);
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
	const unsigned long ftrace_call = own_ftrace_call(function);
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
	return own_ftrace_call(function);
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
	/* The kernel frees init text while the module stays: djk_unpin_target() would not find the
	 * module by such an address. */
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
