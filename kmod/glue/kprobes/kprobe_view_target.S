/* SPDX-License-Identifier: GPL-2.0 */
/* djk_kprobe_view_check() asks the kernel's kprobes about this function, which never runs. */
#include <linux/linkage.h>
#include <linux/objtool.h>

SYM_FUNC_START(djk_view_target)
	ANNOTATE_NOENDBR // nothing jumps here
	movl	$0x90909090, %eax
	movl	$0, %ecx
	/* Not a return: some kernels take its thunk for a jump to anywhere, and then make no jump
	 * of a kprobe in the function. */
	jmp	djk_view_target
SYM_FUNC_END(djk_view_target)
