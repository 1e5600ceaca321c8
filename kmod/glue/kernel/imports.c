// SPDX-License-Identifier: GPL-2.0
#include "imports.h"

#include <linux/kernel.h>
#include <linux/kprobes.h>

#include "doubt.h"

struct djk_imports djk_imports __ro_after_init;

/*
 * The kernel does not export kallsyms_lookup_name(), but a kprobe resolves names. One that is
 * registered as disabled patches nothing and tells the address.
 */
static unsigned long find_kallsyms(void)
{
	struct kprobe probe = {
		.symbol_name = "kallsyms_lookup_name",
		.flags = KPROBE_FLAG_DISABLED,
	};

	if (register_kprobe(&probe))
		return 0;
	unregister_kprobe(&probe);
	return (unsigned long)probe.addr;
}

/* The first name that was looked up and has several addresses. */
static const char *ambiguous;

struct same_names {
	unsigned long *addresses;
	size_t count, max;
};

static int note_match(void *context, unsigned long address)
{
	struct same_names *const matches = context;

	if (matches->count < matches->max)
		matches->addresses[matches->count] = address;
	matches->count++;
	return 0;
}

size_t djk_lookup_all(const char *name, unsigned long *addresses, size_t max)
{
	struct same_names matches = { addresses, 0, max };

	djk_call3(kallsyms_on_each_match_symbol, note_match, name, &matches);
	return matches.count;
}

unsigned long djk_lookup(const char *name)
{
	unsigned long address = 0;

	if (djk_lookup_all(name, &address, 1) <= 1)
		return address;
	if (!ambiguous)
		ambiguous = name;
	return 0;
}

const char *djk_ambiguous_name(void)
{
	return ambiguous;
}

unsigned long djk_lookup_anywhere(const char *name)
{
	return djk_call1(kallsyms_lookup_name, name);
}

/* The imports that are data. All others are functions, or say where text begins or ends. */
#define DATA_IMPORTS(X)                                                                            \
	X(kprobe_mutex)                                                                            \
	X(text_mutex)                                                                              \
	X(kprobe_table)                                                                            \
	X(bpf_prog_active)                                                                         \
	X(bpf_prog_fops)                                                                           \
	X(current_kprobe)                                                                          \
	X(kprobe_ctlblk)                                                                           \
	X(die_chain)                                                                               \
	X(__start_rodata)                                                                          \
	X(__end_rodata)                                                                            \
	X(__start___ex_table)                                                                      \
	X(__stop___ex_table)                                                                       \
	X(__start___jump_table)                                                                    \
	X(__stop___jump_table)                                                                     \
	X(__start_static_call_sites)                                                               \
	X(__stop_static_call_sites)                                                                \
	X(bpf_stats_enabled_key)

static bool is_data(const unsigned long *field)
{
#define IS_FIELD(name) field == &djk_imports.name ||
	return DATA_IMPORTS(IS_FIELD) false;
#undef IS_FIELD
}

static bool lies_in(unsigned long address, unsigned long begin, unsigned long end)
{
	return address >= begin && address < end;
}

/* Whether an import is code or data as it should be. The kernel's text includes init text; data may
 * begin where text ends. */
static bool is_of_its_kind(const unsigned long *field)
{
	const bool text = lies_in(*field, djk_imports._stext, djk_imports._etext) ||
			  lies_in(*field, djk_imports._sinittext, djk_imports._einittext);

	if (is_data(field))
		return !text;
	return text || *field == djk_imports._etext || *field == djk_imports._einittext;
}

static int resolve_optional(struct djk_doubt *doubt)
{
	static const struct {
		const char *name, *instead;
		unsigned long *field;
	} optional[] = {
#define OPTIONAL(name, instead) { #name, #instead, &djk_imports.name },
		DJK_OPTIONAL_IMPORTS(OPTIONAL)
#undef OPTIONAL
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(optional); i++) {
		const size_t count = djk_lookup_all(optional[i].name, optional[i].field, 1);
		unsigned long other;

		if (count == 1 && is_of_its_kind(optional[i].field))
			continue;
		if (!count && !djk_lookup_all(optional[i].instead, &other, 1))
			continue;
		djk_doubt(doubt, "this kernel has %s %s; it is not supported",
			  count ? "an unknown" : "no", optional[i].name);
		return -EOPNOTSUPP;
	}
	return 0;
}

int djk_resolve_imports(struct djk_doubt *doubt)
{
	static const char *const names[] = {
#define DJK_IMPORT_NAME(name) #name,
		DJK_IMPORTS(DJK_IMPORT_NAME)
#undef DJK_IMPORT_NAME
	};
	/* On kernels with IBT a kprobe answers with the address behind endbr64: djk_call() may
	 * enter there. */
	const unsigned long lookup = find_kallsyms();
	unsigned long *field = (unsigned long *)&djk_imports;
	size_t i, count;

	if (!lookup) {
		djk_doubt(doubt, "kallsyms_lookup_name cannot be found: is CONFIG_KPROBES off, or "
				 "the kernel locked down?");
		return -ENOENT;
	}
	djk_imports.kallsyms_on_each_match_symbol =
		djk_call(lookup, (unsigned long)"kallsyms_on_each_match_symbol", 0, 0, 0, 0);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		count = djk_imports.kallsyms_on_each_match_symbol
				? djk_lookup_all(names[i], &field[i], 1)
				: 0;
		if (count == 1)
			continue;
		djk_doubt(doubt, "this kernel has %s %s; it is not supported",
			  count ? "several" : "no", names[i]);
		return count ? -ENOTUNIQ : -ENOENT;
	}
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (is_of_its_kind(&field[i]))
			continue;
		djk_doubt(doubt, "%s is %s; this kernel is not supported", names[i],
			  is_data(&field[i]) ? "code" : "data");
		return -EOPNOTSUPP;
	}
	return resolve_optional(doubt);
}
