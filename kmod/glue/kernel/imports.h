/* SPDX-License-Identifier: GPL-2.0 */
/* Functions and data that the kernel does not export to modules, found by name at load. */
#ifndef DJPROBE_KMOD_IMPORTS_H
#define DJPROBE_KMOD_IMPORTS_H

#include <linux/types.h>

/*
 * X(name): the module does not load when one is missing, and says which. The
 * kernel's version does not matter. djk_call() calls a function; data is used at
 * its address.
 */
/* clang-format off */
#define DJK_IMPORTS(X)                                                                             \
	X(text_poke)                                                                               \
	X(kprobe_mutex)                                                                            \
	X(text_mutex)                                                                              \
	X(bpf_jit_alloc_exec)                                                                      \
	X(bpf_jit_free_exec)                                                                       \
	X(set_memory_ro)                                                                           \
	X(set_memory_x)                                                                            \
	X(kallsyms_lookup_name)                                                                    \
	X(kallsyms_on_each_match_symbol)                                                           \
	X(kallsyms_lookup_size_offset)                                                             \
	X(kallsyms_lookup)                                                                         \
	X(core_kernel_text)                                                                        \
	X(__module_text_address)                                                                   \
	X(within_kprobe_blacklist)                                                                 \
	X(jump_label_lock)                                                                         \
	X(jump_label_unlock)                                                                       \
	X(ftrace_location)                                                                         \
	X(ftrace_location_range)                                                                   \
	X(find_bug)                                                                                \
	X(search_exception_tables)                                                                 \
	X(get_kprobe)                                                                              \
	X(kprobe_table)                                                                            \
	X(recover_probed_instruction)                                                              \
	X(bpf_prog_active)                                                                         \
	X(bpf_prog_fops)                                                                           \
	X(bpf_map_get)                                                                             \
	X(bpf_link_get_from_fd)                                                                    \
	X(bpf_link_put)                                                                            \
	X(perf_event_get)                                                                          \
	X(current_kprobe)                                                                          \
	X(kprobe_ctlblk)                                                                           \
	X(die_chain)                                                                               \
	X(_stext)                                                                                  \
	X(_etext)                                                                                  \
	X(_sinittext)                                                                              \
	X(_einittext)                                                                              \
	X(__start_rodata)                                                                          \
	X(__end_rodata)                                                                            \
	X(__static_call_text_start)                                                                \
	X(__static_call_text_end)                                                                  \
	X(__cpuidle_text_start)                                                                    \
	X(__cpuidle_text_end)                                                                      \
	X(__start___ex_table)                                                                      \
	X(__stop___ex_table)                                                                       \
	X(__start___jump_table)                                                                    \
	X(__stop___jump_table)                                                                     \
	X(__start_static_call_sites)                                                               \
	X(__stop_static_call_sites)                                                                \
	X(__bpf_call_base)                                                                         \
	X(bpf_stats_enabled_key)                                                                   \
	X(kallsyms_show_value)                                                                     \
	X(find_vm_area)
/*
 * Y(name, instead): 0 where the kernel has none. The module does not load where the kernel has
 * `instead`, which does what only the function knows of.
 */
#define DJK_OPTIONAL_IMPORTS(Y)                                                                    \
	Y(alternatives_text_reserved, alternatives_enable_smp)
/* clang-format on */

struct djk_imports {
#define DJK_IMPORT_FIELD(name) unsigned long name;
	DJK_IMPORTS(DJK_IMPORT_FIELD)
#undef DJK_IMPORT_FIELD
#define DJK_OPTIONAL_FIELD(name, instead) unsigned long name;
	DJK_OPTIONAL_IMPORTS(DJK_OPTIONAL_FIELD)
#undef DJK_OPTIONAL_FIELD
};
extern struct djk_imports djk_imports;

struct djk_doubt;

/* Resolve all of them: each must be one symbol, and code or data as expected. 0, or a negative
 * errno with the doubt. */
int djk_resolve_imports(struct djk_doubt *doubt);

/* The address of another symbol of the core kernel. 0: it has none of that name, or several (static
 * ones of different files); several refuse the load. May sleep. */
unsigned long djk_lookup(const char *name);
/* A name of which djk_lookup() has found several, or NULL. */
const char *djk_ambiguous_name(void);
/* Stores up to `max` addresses of that name; returns how many there are, which may be more. May
 * sleep. */
size_t djk_lookup_all(const char *name, unsigned long *addresses, size_t max);
/* The address of "NAME", in the kernel or a module, or of "MODULE:NAME"; the first of several, 0
 * for none. */
unsigned long djk_lookup_anywhere(const char *name);

/*
 * Call a function by its address, in the caller's context. With IBT an indirect call must land on
 * endbr64, and the kernel removes (seals) that where no code takes the function's address. A
 * return, which the CPU does not check, leads to the function instead. Integer arguments only.
 */
unsigned long djk_call(unsigned long function, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d, unsigned long e);

#define djk_call5(name, a, b, c, d, e)                                                             \
	djk_call(djk_imports.name, (unsigned long)(a), (unsigned long)(b), (unsigned long)(c),     \
		 (unsigned long)(d), (unsigned long)(e))
#define djk_call3(name, a, b, c) djk_call5(name, a, b, c, 0, 0)
#define djk_call2(name, a, b) djk_call5(name, a, b, 0, 0, 0)
#define djk_call1(name, a) djk_call5(name, a, 0, 0, 0, 0)
#define djk_call0(name) djk_call5(name, 0, 0, 0, 0, 0)

/* A function that returns int or bool leaves the upper part of rax undefined. */
#define djk_int(call) ((int)(call))
#define djk_bool(call) ((bool)((call)&0xff))

#endif
