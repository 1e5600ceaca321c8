// SPDX-License-Identifier: GPL-2.0
#include "support/handler.h"

extern "C" {
extern const char djprobe_test_handler[];
void djprobe_test_record(djprobe::x86::Frame* frame, djprobe::u64 argument, djprobe::u64 flags,
                         const djprobe::u64* record);
djprobe::u8 djprobe_test_result = 0;
}

// The stack is as the site left it: not aligned.
asm(R"(
.intel_syntax noprefix
.pushsection .text
.globl djprobe_test_handler
.type djprobe_test_handler, @function
djprobe_test_handler:
    pushfq
    pop rdx
    mov rcx, rbp
    push rbp
    mov rbp, rsp
    and rsp, -16
    cld
    call djprobe_test_record
    movabs rax, 0xdeadbeefdeadbeef
    mov rcx, rax
    mov rdx, rax
    mov rsi, rax
    mov rdi, rax
    mov r8, rax
    mov r9, rax
    mov r10, rax
    mov r11, rax
    leave
    neg al
    mov al, [rip + djprobe_test_result]
    ret
.size djprobe_test_handler, . - djprobe_test_handler
.popsection
.att_syntax prefix
)");

namespace {

djprobe::test::Hit hit;
djprobe::test::Edit edit;

}  // namespace

// A detour saves no vector register, so neither may the handler use one. Sites may have left the
// stack misaligned.
[[gnu::target("general-regs-only"), gnu::no_sanitize("alignment")]] void djprobe_test_record(
    djprobe::x86::Frame* frame, djprobe::u64 argument, djprobe::u64 flags,
    const djprobe::u64* record) {
    ++hit.count;
    hit.frame = *frame;
    hit.frame_address = reinterpret_cast<djprobe::u64>(frame);
    hit.argument = argument;
    hit.flags = flags;
    hit.saved_bp = record[0];
    hit.return_address = record[1];
    hit.record_address = reinterpret_cast<djprobe::u64>(record);
    // Without an edit the result is not asked for.
    djprobe_test_result = edit ? edit(*frame, argument) : 0xff;
}

namespace djprobe::test {

u64 handler_address() {
    return reinterpret_cast<u64>(djprobe_test_handler);
}

void set_edit(Edit new_edit) {
    edit = new_edit;
}

Hit& last_hit() {
    return hit;
}

}  // namespace djprobe::test
