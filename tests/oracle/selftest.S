# SPDX-License-Identifier: GPL-2.0
# A text with one hazard of each kind, for oracle.py's own test.
    .text
    .globl _stext, _etext
_stext:
good:       # 5 bytes and more, no branch arrives
    mov $1, %eax
    mov %rbx, %rdi
    ret
    .fill 6, 1, 0xcc
looped:     # a branch to its second instruction; a board behind it
    mov %ebx, %eax
1:  dec %ecx
    jnz 1b
    ret
    .fill 8, 1, 0xcc
live:       # padding that control falls into
    mov %ebx, %eax
    call good
    .fill 8, 1, 0xcc
called:     # the callee returns into the region
    nop
    call *%rax
    mov %rax, %rbx
    ret
fixed:      # an instruction with an exception entry, and its fixup
    mov (%rbx), %rax
    mov %rax, %rcx
fixup:
    mov %rcx, %rdx
    nop
    ret
label:      # a jump label and its target
    .byte 0x0f, 0x1f, 0x44, 0, 0
    mov %rax, %rcx
label_target:
    mov %rcx, %rdx
    ret
traced:
    .byte 0x0f, 0x1f, 0x44, 0, 0
    mov %rax, %rcx
    ret
static:
    call good
    mov %rax, %rcx
    ret
changing:   # an alternative
    mov %rax, %rcx
    mov %rcx, %rdx
    ret
pointed:    # a stored pointer to the second instruction
    mov %rax, %rcx
pointer:
    mov %rcx, %rdx
    ret
taken:      # an address that code computes
    mov %rax, %rcx
place:
    mov %rcx, %rdx
    lea place(%rip), %rax
    ret
trap:
    mov %rax, %rcx
    ud2
emulated:   # one instruction, for Xen
    mov %rax, %rcx
    .byte 0x0f, 0x0b, 'x', 'e', 'n'
    cpuid
    mov $1, %eax
    ret
leaving:    # code behind a ret
    mov %rax, %rcx
    ret
    mov %rcx, %rdx
    ret
forbidden:
    mov $1, %eax
    ret
locked:
    mov %rbx, %rdi
    lock incl (%rdi)
    ret
tail:       # no room for five bytes
    mov %rbx, %rdi
    pop %rbp
    ret
other:
    mov $1, %eax
    ret
    .fill 130, 1, 0xcc
distant:
    mov $1, %eax
    ret
    .globl __noinstr_text_start, __noinstr_text_end
__noinstr_text_start:
quiet:
    mov $1, %eax
    ret
__noinstr_text_end:
_etext:

    .data
__start___ex_table: .long fixed - ., fixup - ., 0
__stop___ex_table:
__start___jump_table: .long label - ., label_target - ., 0, 0
__stop___jump_table:
__start_static_call_sites: .long static - ., 0
__stop_static_call_sites:
__smp_locks: .long locked + 3 - .
__smp_locks_end:
    .balign 8
__start_mcount_loc: .quad traced
__stop_mcount_loc:
__start_kprobe_blacklist: .quad forbidden
__stop_kprobe_blacklist:
    .quad pointer
    .asciz "Linux version 6.12"  # by which the size of a record is known
    .section .altinstructions, "a"
    .long changing + 3 - ., 0, 0
    .byte 3, 3
