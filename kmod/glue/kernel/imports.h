/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel functions and data that are not exported to modules, resolved at load. */
#ifndef DJPROBE_KMOD_IMPORTS_H
#define DJPROBE_KMOD_IMPORTS_H

#include <linux/types.h>

/*
 * X(name): the module does not load when one is missing, and says which.
 * Found by name, whatever the kernel's version. Each is called through
 * djk_call() or, for data, used at its address.
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
	X(alternatives_text_reserved)                                                              \
	X(ftrace_location)                                                                         \
	X(ftrace_location_range)                                                                   \
	X(find_bug)                                                                                \
	X(search_exception_tables)                                                                 \
	X(get_kprobe)                                                                              \
	X(kprobe_table)                                                                            \
	X(recover_probed_instruction)                                                              \
	X(bpf_prog_active)                                                                         \
	X(bpf_prog_fops)                                                                           \
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
/* clang-format on */

struct djk_imports {
#define DJK_IMPORT_FIELD(name) unsigned long name;
	DJK_IMPORTS(DJK_IMPORT_FIELD)
#undef DJK_IMPORT_FIELD
};
extern struct djk_imports djk_imports;

struct djk_doubt;

/* Resolve them all: each is one symbol, and of its kind. An error with the doubt. */
int djk_resolve_imports(struct djk_doubt *doubt);

/* The address of another symbol of the kernel itself;
 * 0 when there is none of that name, or several (static ones of different files), which refuses
 * the load. May sleep. */
unsigned long djk_lookup(const char *name);
/* Of which djk_lookup() has found several, or NULL. */
const char *djk_ambiguous_name(void);
/* How many there are, which may be more than `max`, and where. */
size_t djk_lookup_all(const char *name, unsigned long *addresses, size_t max);
/* What a user names, "MODULE:NAME" too; the first of several. */
unsigned long djk_lookup_anywhere(const char *name);

/*
 * Call a function by address. With IBT an indirect call must land on endbr64,
 * and the kernel seals (removes) it where no one takes the function's address;
 * so this arrives by a return, which is not checked. Integer arguments only.
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

/* int and bool results leave the upper half of rax undefined. */
#define djk_int(call) ((int)(call))
#define djk_bool(call) ((bool)((call)&0xff))

#endif
