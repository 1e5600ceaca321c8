/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel: symbols, and what it knows about its text. */
#ifndef DJPROBE_KMOD_CONTRACT_FACTS_H
#define DJPROBE_KMOD_CONTRACT_FACTS_H

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The address of the text symbol "NAME" or "MODULE:NAME". Returns NONE, NO_SUCH_SYMBOL, or
 * AMBIGUOUS_SYMBOL with two candidates in `other`. */
unsigned int djk_symbol_find(const char *name, unsigned long *address, unsigned long other[2]);

/* All symbols of that name in the kernel; if it has none, one in a module. Returns how many there
 * are, which may be more than `max`: the first `max` are stored. */
size_t djk_find_symbols(const char *name, unsigned long *addresses, size_t max);

/* The extent [start, start + size) of the function that holds `address`. It is what the symbol
 * covers; but a function without a symbol, which kallsyms counts to the one before it, has an
 * extent of its own. False: no symbol covers the address. */
bool djk_symbol_range(unsigned long address, unsigned long *start, unsigned long *size);
/* Whether the function that holds `address` has a symbol. */
bool djk_has_name(unsigned long address);

/* The name of the symbol that covers `address` (room for 512 bytes; "" for none), of its module
 * (room for 64; "" for the kernel), and the distance of the address from the symbol. */
void djk_symbol_name(unsigned long address, char *name, char *module, unsigned long *offset);

/* The entry that a function's first byte stands for: the address behind endbr64 and ftrace call. */
unsigned long djk_function_entry(unsigned long function);

/* Why no probe may be at `address`, whatever is there: NOT_TEXT, INIT_TEXT, OWN_TEXT, IDLE_TEXT,
 * STATIC_CALL (a trampoline), BLACKLISTED, FRAGILE_TEXT, MODULE_LEAVING; else NONE. */
unsigned int djk_forbidden(unsigned long address);
/* The same for a further address in a function of the core kernel of which djk_forbidden() has not
 * said BLACKLISTED. The kernel's list has whole functions, and takes long to search. A module that
 * comes may add some. */
unsigned int djk_forbidden_in_unlisted(unsigned long address);

/* What the kernel has at each of the `count` bytes from `address` on: FTRACE_SITE, ALTERNATIVE,
 * JUMP_LABEL, STATIC_CALL, BUG_SITE, EXTABLE_INSN, FOREIGN_PATCH (a kprobe), else NONE. On entry
 * reasons[i] tells whether a jump label or a static call may be there (djk_list_rewritten()). The
 * caller has pinned the module of the byte in the middle. Takes jump_label_mutex and text_mutex. */
void djk_reserved(unsigned long address, unsigned char *reasons, size_t count);

/* The text that can branch to `address`: that of the core kernel, or of one module. False: the
 * address is in no text. */
bool djk_text_extent(unsigned long address, struct djk_extent *text);
void djk_core_text_extent(struct djk_extent *text);
/* Data that may hold code pointers into core text. */
void djk_core_rodata_extent(struct djk_extent *rodata);

/* Calls visit(context, kind, source, target) for every place where control can arrive without an
 * instruction that says so. `kind` is FIXUP_INTO_REGION (source 0), LABEL_INTO_REGION or, of a
 * module, POINTER_INTO_REGION. `module_address` 0 stands for the core kernel; else the caller has
 * pinned the module that holds it, and visit() must not sleep. */
typedef void (*djk_landing_visit)(void *context, unsigned int kind, unsigned long source,
				  unsigned long target);
void djk_visit_landings(unsigned long module_address, djk_landing_visit visit, void *context);

/* Whether the compiler has made the function: it has an ftrace call at its entry. */
bool djk_is_compiled(unsigned long function);
/* Why no return address may be replaced in a function: NO_SHADOW or SPECIAL_RETURN; else NONE. */
unsigned int djk_unshadowable(unsigned long function);
/* Whether the symbol is a part of a function that the compiler has moved away: NAME.cold. */
bool djk_is_part(unsigned long symbol);
/* Whether an instruction in [begin, end) has an exception-table entry. True as well for text whose
 * module has gone. Does not sleep. */
bool djk_has_fixups(unsigned long begin, unsigned long end);

/* Calls visit(context, kind, place, target) for every instruction that the kernel rewrites: jump
 * labels, with their target, and static calls, with target 0. They belong to the core kernel, or to
 * the module that holds `address`: the caller has pinned it, and visit() must not sleep. */
enum djk_flow_kind { DJK_FLOW_LABEL, DJK_FLOW_CALL, DJK_FLOW_UNKNOWN };
typedef void (*djk_flow_visit)(void *context, unsigned int kind, unsigned long place,
			       unsigned long target);
void djk_visit_rewritten_flow(unsigned long address, djk_flow_visit visit, void *context);
/* The same for those of them that begin in [begin, end). */
void djk_visit_rewritten_near(unsigned long address, unsigned long begin, unsigned long end,
			      djk_flow_visit visit, void *context);
/* The same for the core kernel, as a list that is sorted by place. It does not change after boot.
 * Returns how many there are, which may be more than `max`. */
struct djk_rewrite {
	unsigned long place, target;
	unsigned int kind;
};
size_t djk_list_rewritten(struct djk_rewrite *list, size_t max);

/* Copy text. False: a byte is not readable. In any context; the copy is consistent only under
 * djk_text_lock(). */
bool djk_read(void *to, unsigned long address, size_t size);

/* From now on djk_forbidden() says FRAGILE_TEXT in these ranges, which it sorts and joins. The
 * caller keeps the array until it sets another one. Only while the module loads or unloads. */
void djk_set_fragile(struct djk_extent *ranges, size_t count);
/* Tell the log why the module does not load: this kernel has no symbol `name` (`of` what, or ""),
 * or the function of that name calls neither of the two callees. */
void djk_lacks(const char *name, const char *of);
void djk_lacks_call(const char *name, const char *const callees[2]);

/* Keep the module that holds `address` from unloading, until djk_unpin_target(). False: the module
 * loads or unloads, or the address is in none. The core kernel needs no pin: true. Do not sleep. */
bool djk_pin_target(unsigned long address);
void djk_unpin_target(unsigned long address);

#ifdef __cplusplus
}
#endif
#endif
