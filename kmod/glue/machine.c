// SPDX-License-Identifier: GPL-2.0
/* Constants of this kernel on this CPU. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <asm/cpufeature.h>
#include <asm/segment.h>

#include "hit.h"
#include "imports.h"
#include "kernel.h"

/*
 * The return thunk that the compiler calls and the one that this CPU needs, to which boot has
 * turned every return. Mostly they lie together; where not (srso_alias_return_thunk), the latter.
 */
static struct djk_extent return_thunks(void)
{
	const unsigned long compiled = djk_lookup("__x86_return_thunk");
	const unsigned long variable = djk_lookup("x86_return_thunk");
	const unsigned long chosen = variable ? *(const unsigned long *)variable : compiled;
	struct djk_extent thunks = { min(compiled, chosen), max(compiled, chosen) + 1 };

	if (!compiled) {
		thunks.begin = thunks.end = 0;
	} else if (thunks.end - thunks.begin > PAGE_SIZE) {
		thunks.begin = chosen;
		thunks.end = chosen + 1;
	}
	return thunks;
}

/* One for each register, in the order of their numbers; empty if this kernel has none. */
static struct djk_extent thunk_array(const char *rax, const char *r15)
{
	const unsigned long first = djk_lookup(rax), last = djk_lookup(r15);
	struct djk_extent array = { first, last ? last + 1 : first };

	return array;
}

void djk_get_machine(struct djk_machine *machine)
{
	machine->cs = __KERNEL_CS;
	machine->ss = __KERNEL_DS;
	machine->smap = boot_cpu_has(X86_FEATURE_SMAP);
	/* With either option the kernel's Makefile says -fno-jump-tables. */
	machine->no_jump_tables = IS_ENABLED(CONFIG_RETPOLINE) ||
				  IS_ENABLED(CONFIG_MITIGATION_RETPOLINE) ||
				  IS_ENABLED(CONFIG_X86_KERNEL_IBT);
	machine->indirect_thunks =
		thunk_array("__x86_indirect_thunk_rax", "__x86_indirect_thunk_r15");
	machine->boot_thunks[0] =
		thunk_array("__x86_indirect_jump_thunk_rax", "__x86_indirect_jump_thunk_r15");
	machine->boot_thunks[1] =
		thunk_array("__x86_indirect_its_thunk_rax", "__x86_indirect_its_thunk_r15");
	machine->return_thunks = return_thunks();
#if defined(X86_FEATURE_CALL_DEPTH) && defined(CONFIG_FUNCTION_PADDING_BYTES)
	if (boot_cpu_has(X86_FEATURE_CALL_DEPTH))
		machine->pad = CONFIG_FUNCTION_PADDING_BYTES;
#endif
	djk_get_guard(machine);
}
