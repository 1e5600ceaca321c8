/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A "kernel" of a few functions and tables, linked to where kernels lie: what the survey must find
 * out about a text, each thing once. Intel syntax; offsets in comments.
 */
	.intel_syntax noprefix

	.macro function name
	.p2align 4, 0xcc
	.type \name, @function
	.globl \name
\name:
	.endm

	.text
	.globl _stext
_stext:
/* The cold part jumps to +1. */
function split
	push rbp		/* +0 */
.Linner:
	push rbx		/* +1 */
	mov eax, 1		/* +2 */
	ret			/* +7 */

/* Its own jump lands right behind the five bytes of +0: harmless, but not to mainline. */
function loops
	mov eax, 1		/* +0 */
1:	dec eax			/* +5 */
	jnz 1b			/* +7 */
	ret			/* +9 */

/* An exception-table entry for +5, fixed up to +9. */
function faults
	mov eax, 1		/* +0 */
.Lfault:
	mov rcx, [rdi]		/* +5 */
	push rax		/* +8 */
.Lfixup:
	pop rax			/* +9 */
	add rax, rcx		/* +10 */
	ret			/* +13 */

/* endbr64 and the ftrace call come before the entry at +9. */
function traced
	endbr64			/* +0 */
.Lftrace_call:
	.byte 0x0f, 0x1f, 0x44, 0, 0	/* +4 */
	mov eax, 1		/* +9 */
	ret			/* +14 */

/* The same where the kernel has sealed the endbr64. */
function sealed
	.byte 0x66, 0x0f, 0x1f, 0x00	/* +0 */
.Lsealed_call:
	.byte 0x0f, 0x1f, 0x44, 0, 0	/* +4 */
	mov eax, 1		/* +9 */
	ret			/* +14 */

/* Behind it a weak function that the linker has overridden: code and ftrace call, but no symbol. */
function overridden
	mov eax, 1		/* +0 */
	ret			/* +5 */
	.p2align 4, 0xcc
.Lnameless_call:
	.byte 0x0f, 0x1f, 0x44, 0, 0	/* +16 */
	mov eax, 1		/* +21 */
	ret			/* +26 */

/* A tail call as boot leaves it; the second takes a place in itself first. */
function tail
	mov eax, 1		/* +0 */
	jmp rcx			/* +5 */
function computed
	mov eax, 1		/* +0 */
	lea rcx, [rip + 1f]	/* +5 */
	jmp rcx			/* +12 */
1:	ret			/* +14 */

/* On the way of every int3. */
function irqentry_nmi_enter
	ret
function irqentry_nmi_exit
	ret
function kprobe_int3_handler
	ret
function notify_die
	jmp notifier_chain
function notifier_chain
	mov eax, 1
	ret

/* What every kernel has. */
function start_secondary
	call rcu_cpu_starting
	ret
function rcu_cpu_starting
	ret
	.irp name, secondary_startup_64, native_write_cr0, native_write_cr4, rcu_report_dead, \
		native_send_call_func_single_ipi, arch_cpu_idle, ret_from_fork, ftrace_caller, \
		ftrace_regs_caller, ftrace_caller_end, ftrace_regs_caller_end, sched_clock, \
		native_sched_clock, rcu_is_watching, arch_ftrace_ops_list_func
	.globl \name
	.set \name, rcu_cpu_starting
	.endr

function blacklisted
	mov eax, 1
	ret
function blacklisted.part.0
	mov eax, 1
	ret
	.p2align 4, 0xcc
	.type __pfx_padding, @function
__pfx_padding:
	.fill 16, 1, 0x90

function locked
	mov eax, 1		/* +0 */
.Llock:
	lock inc dword ptr [rdi]	/* +5 */
	ret			/* +8 */

/* Functions by how they are left. */
	.macro traced_function name
function \name
.Lcall_\name:
	.byte 0x0f, 0x1f, 0x44, 0, 0	/* +0 */
	.endm

traced_function two_returns
	test edi, edi		/* +5 */
	jz 1f			/* +7 */
	mov eax, 1		/* +9 */
	ret			/* +14 */
1:	mov eax, 2		/* +15 */
	ret			/* +20 */
traced_function parted
	test edi, edi		/* +5 */
	jz parted.cold		/* +7 */
	mov eax, 1
.Lback:
	ret			/* +18 */
traced_function sometimes_tail
	test edi, edi
	jz two_returns
	mov eax, 1
	ret
traced_function always_tail
	jmp rcx
traced_function into_the_middle
	test edi, edi
	jz two_returns + 5
	ret
traced_function crowded
	test edi, edi		/* +5 */
	jz 1f
2:	dec eax
1:	ret			/* +11: a branch's target, and code behind it */
	inc eax
	jmp 2b
traced_function static_tail
	mov eax, 1
.Lstatic_tail:
	ret			/* a static call that leads nowhere as yet */
	.fill 4, 1, 0xcc
traced_function static_tail_of_boot
	mov eax, 1
.Lstatic_tail_of_boot:
	.byte 0xe9		/* the same where boot has turned returns to their thunk */
	.long __x86_return_thunk - . - 4
traced_function endless
1:	jmp 1b
traced_function blacklisted_return
1:	mov eax, 1
	dec eax
	jnz 1b			/* to its entry, too: the list is what counts */
	ret

	.p2align 4, 0xcc
	.globl __static_call_text_start, __static_call_text_end
__static_call_text_start:
function __SCT__call
	jmp tail
	ud1 eax, [rax]
__static_call_text_end:

function parted.cold
	mov eax, 2		/* +0 */
	test esi, esi		/* +5 */
	jnz .Lback		/* +7 */
	ret
function split.cold
	mov eax, 2		/* +0 */
	jmp .Linner		/* +5 */
function __x86_return_thunk
	ret
	.p2align 4, 0xcc
	.globl _etext
_etext:

	.section .rodata, "a"
	.p2align 3
	.globl __start_rodata, __end_rodata, linux_banner
__start_rodata:
linux_banner:
	.asciz "Linux version 6.1.0-tiny (builder@nowhere)"
	.p2align 3
	.globl __start___ex_table, __stop___ex_table
__start___ex_table:
	.long .Lfault - ., .Lfixup - ., 0
__stop___ex_table:
	.p2align 3
	.globl __start___jump_table, __stop___jump_table
__start___jump_table:
__stop___jump_table:
	.globl __start_static_call_sites, __stop_static_call_sites
__start_static_call_sites:
	.long .Lstatic_tail - ., 0
	.long .Lstatic_tail_of_boot - ., 0
__stop_static_call_sites:
	.globl __smp_locks, __smp_locks_end
__smp_locks:
	.long .Llock - .
__smp_locks_end:
	.p2align 3
	.globl __start_kprobe_blacklist, __stop_kprobe_blacklist
__start_kprobe_blacklist:
	.quad blacklisted, blacklisted_return
__stop_kprobe_blacklist:
	.globl __start_mcount_loc, __stop_mcount_loc
__start_mcount_loc:
	.quad .Lftrace_call, .Lsealed_call, .Lnameless_call
	.quad .Lcall_two_returns, .Lcall_parted, .Lcall_sometimes_tail, .Lcall_always_tail
	.quad .Lcall_into_the_middle, .Lcall_crowded, .Lcall_endless, .Lcall_blacklisted_return
	.quad .Lcall_static_tail, .Lcall_static_tail_of_boot
__stop_mcount_loc:
	/* Its name alone says that the kernel was built for IBT, hence without jump tables. */
	.globl ibt_save
ibt_save:
__end_rodata:
