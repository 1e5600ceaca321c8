/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/linkage.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>

/*
 * unsigned long djk_call(unsigned long function, a, b, c, d, e); see imports.h.
 * A jump made of push and ret, as retpolines do it.
 */
SYM_FUNC_START(djk_call)
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %rcx
	mov	%r9, %r8
	push	%rax
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(djk_call)
