/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that are hard to probe. Each takes a number and returns one that
 * depends on the way it went, so that a probe that breaks it is seen. The bytes
 * are as written: no macro of the kernel's adds any.
 */
#include <linux/linkage.h>
#include <asm/asm.h>

	.text

/* 64 bytes apart, so that no short branch but the function's own is near; int3 behind. */
.macro FUNCTION name
	.balign 64, 0xcc
	.globl hostile_\name
	.type hostile_\name, @function
hostile_\name:
.endm

.macro END name
	.size hostile_\name, . - hostile_\name
.endm

/* --- branches into a region, forwards: the site's own instruction may be skipped --- */

.macro INTO n:req, insn:vararg
FUNCTION into_\n
	mov	%rdi, %rax
	test	%rdi, %rdi
	je	1f
	\insn
1:	lea	7(%rax,%rax), %rax
	ret
END into_\n
.endm

INTO 1, cwtl				/* 1 byte */
INTO 2, inc %eax
INTO 3, add $3, %eax
INTO 4, add $4, %rax
INTO 5, .byte 0x05, 5, 0, 0, 0		/* add $5, %eax */

/* --- backwards: the site itself is a branch's target, so no slide --- */

.macro BACK n:req, insn:vararg
FUNCTION back_into_\n
	mov	%rdi, %rax
	mov	$2, %ecx
1:	\insn
2:	add	$1, %eax
	dec	%ecx
	je	3f
	test	%rdi, %rdi
	je	1b
	jmp	2b
3:	ret
END back_into_\n
.endm

BACK 1, cwtl
BACK 2, inc %eax
BACK 3, add $3, %eax
BACK 4, add $4, %rax
BACK 5, .byte 0x05, 5, 0, 0, 0

/* As back_into_2, with nothing dead near enough for a springboard. */
	.balign 64, 0xcc
	.fill 192, 1, 0
	.globl hostile_back_bare
	.type hostile_back_bare, @function
hostile_back_bare:
	mov	%rdi, %rax
	mov	$2, %ecx
1:	inc	%eax
2:	add	$1, %eax
	dec	%ecx
	je	3f
	test	%rdi, %rdi
	je	1b
	jmp	2b
3:	ret
	.size hostile_back_bare, . - hostile_back_bare
	.fill 192, 1, 0

/* --- from elsewhere --- */

FUNCTION from_cold
	mov	%rdi, %rax
	test	%rdi, %rdi
	je	hostile_from_cold.cold
	inc	%eax
.Lfrom_cold_back:
	add	$3, %rax
	ret
END from_cold

	.pushsection .text.unlikely, "ax"
	.type hostile_from_cold.cold, @function
hostile_from_cold.cold:
	mov	$100, %eax
	jmp	.Lfrom_cold_back
	.size hostile_from_cold.cold, . - hostile_from_cold.cold
	.popsection

FUNCTION from_neighbour
	mov	%rdi, %rax
	inc	%eax
.Linto_from_neighbour:
	dec	%edi
	add	%edi, %eax
	ret
END from_neighbour

FUNCTION neighbour
	lea	100(%rdi), %rax
	jmp	.Linto_from_neighbour
END neighbour

/* --- tables --- */

/* 0: reads what is there; else faults, and goes on between the bytes of the add. */
FUNCTION fixup_into
	lea	number(%rip), %rcx
	mov	%rdi, %rax
	shl	$63, %rdi
	add	%rdi, %rcx
1:	mov	(%rcx), %rax
	inc	%eax
2:	add	$16, %rax
	ret
	_ASM_EXTABLE(1b, 2b)
END fixup_into

/* Table in rodata, jump through a register: no address of the function is in its code. */
FUNCTION jump_table
	mov	%rdi, %rax
	and	$3, %edi
	mov	table(,%rdi,8), %rdi
	jmp	*%rdi
.Ltable_0:
	inc	%eax
.Ltable_1:
	inc	%eax
.Ltable_2:
	inc	%eax
.Ltable_3:
	add	$8, %rax
	ret
END jump_table

	.pushsection .rodata
	.balign 8
table:	.quad .Ltable_0, .Ltable_1, .Ltable_2, .Ltable_3
	.popsection

/* Computes its target from an address in itself. */
FUNCTION computed_jump
	lea	1f(%rip), %rcx
	and	$3, %edi
	lea	(%rcx,%rdi,2), %rcx
	mov	%rdi, %rax
	jmp	*%rcx
1:	inc	%eax
	inc	%eax
	inc	%eax
	add	$8, %rax
	ret
END computed_jump

FUNCTION tail_jump
	lea	1(%rdi), %rdi
	test	$1, %dil
	je	hostile_one_more
	jmp	hostile_one_more
END tail_jump

FUNCTION one_more
	lea	1(%rdi), %rax
	ret
END one_more

/* --- calls --- */

FUNCTION call_middle
	push	%rdi
	mov	%edi, %edi
	push	%rdi
	.byte	0x67				/* addr32, which means nothing here: 6 bytes */
	call	hostile_one_more
	pop	%rcx
	pop	%rdi
	add	%rdi, %rax
	push	%rax
	call	*one_more_pointer(%rip)
	pop	%rcx
	add	%rcx, %rax
	ret
END call_middle

FUNCTION call_last
	push	%rbx
	mov	%edi, %ebx
	call	hostile_one_more
	add	%ebx, %eax
	pop	%rbx
	ret
END call_last

FUNCTION call_indirect
	lea	hostile_one_more(%rip), %rax
	call	*%rax
	inc	%eax
	inc	%eax
	ret
END call_indirect

/* A short call in the middle of five bytes that a branch leads to. */
FUNCTION call_inside
	lea	hostile_one_more(%rip), %rax
	test	%rdi, %rdi
	je	1f
	inc	%edi
1:	push	%rdi
	call	*%rax
	pop	%rcx
	add	%rcx, %rax
	ret
END call_inside

FUNCTION call_on_stack
	lea	hostile_one_more(%rip), %rax
	push	%rax
	inc	%edi
	call	*(%rsp)
	pop	%rcx
	ret
END call_on_stack

	.pushsection .rodata
	.balign 8
one_more_pointer: .quad hostile_one_more
	.popsection

/* --- prefixes --- */

FUNCTION prefix_66
	mov	%rdi, %rax
	inc	%ax
	add	$0x1234, %ax
	data16 nop
	.byte	0x66, 0x66, 0x66, 0x90
	movq	%rax, %rdx
	add	%dx, %ax
	ret
END prefix_66

FUNCTION prefix_f2_f3
	mov	%rdi, %rcx
	and	$7, %ecx
	inc	%ecx
	push	%rdi
	lea	scratch(%rip), %rdi
	mov	$0x41, %eax
	rep stosb
	lea	scratch(%rip), %rdi
	mov	$9, %ecx
	repne scasb
	pause
	mov	%rcx, %rax
	pop	%rdi
	ret
END prefix_f2_f3

FUNCTION prefix_lock
	lea	scratch+16(%rip), %rcx
	mov	%rdi, (%rcx)
	lock incq (%rcx)
	lock xaddq %rdi, (%rcx)
	lock; addl $3, (%rcx)
	xchg	%rdi, (%rcx)
	lea	(%rdi), %rax
	ret
END prefix_lock

/* A branch skips the lock prefix, as the kernel's did on one CPU: two instruction starts. */
FUNCTION lock_skipped
	lea	scratch+24(%rip), %rcx
	mov	%rdi, (%rcx)
	test	%rdi, %rdi
	je	1f
	.byte	0xf0
1:	incq	(%rcx)
	mov	(%rcx), %rax
	ret
END lock_skipped

FUNCTION prefix_segment
	mov	%rdi, %rax
	mov	%gs:this_cpu_off(%rip), %rcx
	mov	%gs:this_cpu_off, %ecx		/* no base: an absolute address */
	.byte	0x3e
	add	scratch(%rip), %edx
	.byte	0x2e
	lea	3(%rax), %rax
	.byte	0x36
	test	%al, %al
	.byte	0x26
	nop
	ret
END prefix_segment

FUNCTION prefix_67
	mov	%edi, %eax
	lea 4(%eax), %eax
	lea 8(%eax,%edi,2), %rcx
	lea (%eip), %rdx
	add	%rcx, %rax
	ret
END prefix_67

FUNCTION prefix_rex
	mov	%rdi, %r8
	.byte	0x40
	inc	%r8d
	.byte	0x48, 0x41, 0x90		/* an ignored REX, then xchg %r8d, %eax */
	mov	%rax, %r11
	xor	%r11, %r11
	lea	1(%r10,%r10), %r10		/* all bits of REX */
	lea	-1(%r8,%r8), %r11
	add	%r11, %rax
	mov	%eax, %eax
	ret
END prefix_rex

FUNCTION prefix_vex
	mov	%rdi, %rax
	test	$-1, %rdi
	jmp	2f
	vzeroupper
	vpxor	%xmm0, %xmm0, %xmm0
	andn	%rdi, %rax, %rax
	.byte	0x62, 0xf1, 0x7d, 0x48, 0xef, 0xc0	/* vpxord %zmm0, %zmm0, %zmm0 */
2:	inc	%eax
	ret
END prefix_vex

/* --- relative operands --- */

FUNCTION rip_relative
	mov	number(%rip), %rax
	add	%rdi, %rax
	cmpb	$7, number(%rip)
	jne	1f
	imul	$5, number(%rip), %rcx
	movq	$0x1234, scratch+32(%rip)
	add	scratch+32(%rip), %rcx
	add	%rcx, %rax
	lea	hostile_rip_relative(%rip), %rdx
	sub	%rdx, %rdx
1:	ret
END rip_relative

FUNCTION counter_loop
	mov	$3, %ecx
	mov	%rdi, %rax
1:	inc	%eax
	loop	1b
	mov	$2, %ecx
2:	add	$1, %rax
	loopne	2b
	ret
END counter_loop

FUNCTION jrcxz_over
	mov	%rdi, %rcx
	mov	%rdi, %rax
	jrcxz	1f
	inc	%eax
1:	jecxz	2f
	add	$1, %rax
2:	ret
END jrcxz_over

/* --- ends --- */

FUNCTION one_byte
	ret
END one_byte

/* A symbol without code: what follows is the next one's. */
	.globl hostile_empty_label
	.type hostile_empty_label, @function
	.balign 64, 0xcc
hostile_empty_label:
	.size hostile_empty_label, 0
	.globl hostile_two_bytes
	.type hostile_two_bytes, @function
hostile_two_bytes:
	cwtl
	ret
END two_bytes

FUNCTION ends_in_nops
	mov	%edi, %eax
	inc	%eax
	ret
	nop
	nop
	nop
END ends_in_nops

FUNCTION ends_in_zeros
	mov	%edi, %eax
	inc	%eax
	ret
	.fill 64, 1, 0
END ends_in_zeros

FUNCTION int3_inside
	mov	%edi, %eax
	jmp	1f
	int3
	int3
	int3
1:	inc	%eax
	jmp	2f
	int3
2:	add	$2, %eax
	ret
END int3_inside

FUNCTION traps
	mov	%edi, %eax
	cmp	$-1, %rdi
	jne	1f
	ud2
1:	inc	%eax
	cmp	$-1, %rdi
	jne	2f
	hlt
2:	inc	%eax
	ret
END traps

/* --- the stack and the flags --- */

FUNCTION stack_user
	push	%rdi
	push	$0x11
	mov	8(%rsp), %rax
	add	(%rsp), %rax
	push	%rsp
	pop	%rcx
	sub	%rsp, %rcx
	add	%rcx, %rax
	lea	-16(%rsp), %rsp
	mov	%rdi, (%rsp)
	pop	%rdx
	lea	8(%rsp), %rsp
	xchg	%rax, (%rsp)
	pop	%rax
	pop	%rcx
	add	%rcx, %rax
	push	%rbp
	mov	%rsp, %rbp
	push	%rax
	pushq	(%rsp)
	popq	-8(%rbp)
	mov	-8(%rbp), %rax
	leave
	ret
END stack_user

FUNCTION flags_user
	mov	%rdi, %rax
	cmp	$1, %rdi
	cmc
	adc	%rdi, %rax
	pushf
	pop	%rcx
	std
	cld
	stc
	rcl	%rax
	and	$0x8d5, %ecx
	add	%rcx, %rax
	sete	%cl
	cmovs	%rdi, %rax
	sbb	%edx, %edx
	ret
END flags_user

	.balign 64, 0xcc
	.pushsection .data
	.balign 8
	.globl scratch
scratch: .fill 64, 1, 0
number:	.quad 7
	.popsection
	.section .note.GNU-stack, "", @progbits
