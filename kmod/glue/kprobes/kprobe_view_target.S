/* SPDX-License-Identifier: GPL-2.0 */
/* Never run: what djk_kprobe_view_check() asks the kernel's kprobes about. */
#include <linux/linkage.h>

SYM_FUNC_START(djk_view_target)
	movl	$0x90909090, %eax
	movl	$0, %ecx
	/* No return: some kernels take the thunk for one as a jump to anywhere, and make no jump
	 * of a kprobe in its function. */
	jmp	djk_view_target
SYM_FUNC_END(djk_view_target)
