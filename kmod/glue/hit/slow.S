/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/linkage.h>
#include <asm/nospec-branch.h>

/* See hit.h. All detours share it, which makes each of them shorter. */
SYM_FUNC_START(djk_hit_slow_thunk)
	ENDBR
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	mov	%rax, %rsi
	call	djk_hit_slow
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	RET
SYM_FUNC_END(djk_hit_slow_thunk)
