// SPDX-License-Identifier: GPL-2.0
/* Constants of this kernel on this CPU. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <asm/cpufeature.h>
#include <asm/segment.h>

#include "../kernel/doubt.h"
#include "actions.h"
#include "hit.h"
#include "../kernel/imports.h"
#include "../kernel.h"
#include "machine.h"
#include "../kernel/text_of.h"

/*
 * The return thunk that the compiler jumps to, and the one that this CPU needs, to which boot has
 * turned every return. Mostly they lie together: one extent has both. Where they do not
 * (srso_alias_return_thunk), it has the latter.
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

/* The thunks for all registers, in the order of their numbers; empty if this kernel has none. */
static struct djk_extent thunk_array(const char *rax, const char *r15)
{
	const unsigned long first = djk_lookup(rax), last = djk_lookup(r15);
	struct djk_extent array = { first, last ? last + 1 : first };

	return array;
}

/* The thunk to which boot has turned returns. */
static unsigned long chosen_return_thunk(void)
{
	const unsigned long variable = djk_lookup("x86_return_thunk");

	return variable ? *(const unsigned long *)variable : 0;
}

/*
 * A CPU with ITS predicts an indirect branch or a return wrongly when its last byte lies in the
 * lower half of a cache line. Boot leaves the branches in the upper half as they are. A copy in a
 * slot may lie in the lower half.
 */
static bool has_its(void)
{
#ifdef X86_FEATURE_INDIRECT_THUNK_ITS
	if (boot_cpu_has(X86_FEATURE_INDIRECT_THUNK_ITS))
		return true;
#endif
	return chosen_return_thunk() && chosen_return_thunk() == djk_lookup("its_return_thunk");
}

int djk_check_mitigations(struct djk_doubt *doubt)
{
	const unsigned long chosen = chosen_return_thunk();

	/* Without a thunk, slots would hold plain returns. */
	if (!has_its() || (chosen && djk_is_core_text(chosen)))
		return 0;
	djk_doubt(doubt, "ITS is mitigated, but x86_return_thunk is not known; report it with this "
			 "kernel's release");
	return -EOPNOTSUPP;
}

void djk_get_machine(struct djk_machine *machine)
{
	machine->cs = __KERNEL_CS;
	machine->ss = __KERNEL_DS;
	machine->smap = boot_cpu_has(X86_FEATURE_SMAP);
	machine->lahf = boot_cpu_has(X86_FEATURE_LAHF_LM);
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
	machine->aligned_branches = has_its();
	machine->return_thunk = machine->aligned_branches ? chosen_return_thunk() : 0;
#if defined(X86_FEATURE_CALL_DEPTH) && defined(CONFIG_FUNCTION_PADDING_BYTES)
	if (boot_cpu_has(X86_FEATURE_CALL_DEPTH)) {
		machine->pad = CONFIG_FUNCTION_PADDING_BYTES;
		machine->counts_calls = true;
	}
#endif
	djk_get_guard(machine);
	djk_get_task_layout(machine);
}
