/* SPDX-License-Identifier: GPL-2.0 */
/* Compiled twice into one object: functions of one name, as the kernel has them. */
#ifndef SECOND
__asm__(".globl _text\n_text:");
#endif

int value;

static __attribute__((noinline)) int twin(int n) {
    value += n; /* both */
    return value * 3;
}

#ifndef SECOND
static __attribute__((noinline)) int other(int n) {
    return twin(n) + 1;
}

int first_caller(int n) {
    return other(n) * 5;
}
#else
static __attribute__((noinline)) int other(int n) {
    return twin(n) + 2;
}

int second_caller(int n) {
    return other(n) * 7;
}
#endif
