// SPDX-License-Identifier: GPL-2.0
/*
 * Does the kernel decide by our patches? Compilers may inline the functions that should ask for
 * them. So this file asks the kernel itself, by kprobes that are registered as disabled and never
 * armed: once about text as it is, and once about text that was something else, as a patch says.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>

#include "../kernel/doubt.h"
#include "../kernel/imports.h"
#include "../kernel.h"
#include "kprobe_view.h"

void djk_view_target(void);

enum answer {
	REFUSED,    /* no instruction begins there, or other reasons */
	ACCEPTED,   /* but never a jump */
	JUMP_READY, /* prepared for its jump */
};

static enum answer ask(unsigned long address)
{
	struct kprobe kprobe = {
		.addr = (kprobe_opcode_t *)address,
		.flags = KPROBE_FLAG_DISABLED,
	};
	enum answer answer = ACCEPTED;

	if (register_kprobe(&kprobe))
		return REFUSED;
	/* The kernel puts a kprobe that is ready for its jump behind another, which it makes. */
	preempt_disable();
	if (djk_call1(get_kprobe, address) != (unsigned long)&kprobe)
		answer = JUMP_READY;
	preempt_enable();
	unregister_kprobe(&kprobe);
	return answer;
}

/* Ask while a patch says that the text at `address` was `original`. */
static enum answer ask_about(unsigned long place, unsigned long address, const u8 *original,
			     unsigned int length)
{
	struct djk_patch patch = { .original = original, .address = address, .length = length };
	enum answer answer;

	djk_text_lock();
	djk_show_patch(&patch);
	djk_text_unlock();
	answer = ask(place);
	djk_text_lock();
	djk_hide_patch(&patch);
	djk_text_unlock();
	return answer;
}

int djk_kprobe_view_check(struct djk_doubt *doubt)
{
	const unsigned long target = djk_function_entry((unsigned long)djk_view_target);
	/* The target is a 5-byte mov whose immediate is four nops, then another mov. */
	const unsigned long within = target + 1, second = target + 5;
	static const u8 nop[] = { 0x90 }, jump_into_second[] = { 0xeb, 0x05 };

	if (ask(within) != REFUSED || ask_about(within, target, nop, sizeof(nop)) == REFUSED) {
		djk_doubt(doubt, "it is not asked for when the kernel looks for an instruction's "
				 "first byte; report it with this kernel's release");
		return -EOPNOTSUPP;
	}
	if (ask(second) != JUMP_READY ||
	    ask_about(second, target, jump_into_second, sizeof(jump_into_second)) == JUMP_READY) {
		djk_doubt(doubt, "it is not asked for when the kernel looks for branches; report "
				 "it with this kernel's release");
		return -EOPNOTSUPP;
	}
	return 0;
}
