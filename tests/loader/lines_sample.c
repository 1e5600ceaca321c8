// SPDX-License-Identifier: GPL-2.0
/* Variables for lines_test.cc, which reads the debug information of this file's object. */
struct pair {
    long low, high;
};

extern void fill(struct pair* pair);
extern volatile long marks;
long outer(long n, const char* word);

static inline __attribute__((always_inline)) long add(long base, int step) {
    long total = base * 3 + step;

    __asm__("" : "+r"(total));
    marks = total; /* LINE: add */
    return total;
}

static inline __attribute__((always_inline)) long half(long count) {
    marks = count;
    return count / 2;
}

long caller(long other, long count);

/* The call begins where the function that is called does, which has a `count` of its own. */
long caller(long other, long count) {
    marks = 1;
    other = half(other); /* LINE: call */
    return other + count;
}

/* Its static variable stands in no copy of it, and hides the caller's all the same. */
static inline __attribute__((always_inline)) long once(long value) {
    static long seen;

    seen += value;
    marks = value; /* LINE: once */
    return seen;
}

long shadowed(long seen);

long shadowed(long seen) {
    marks = seen + once(seen + 1);
    return seen;
}

long outer(long n, const char* word) {
    const int always = -5;
    struct pair pair;
    long first, second;

    fill(&pair);
    first = add(n, 1);
    second = add(first, 2);
    marks = pair.low + word[0]; /* LINE: end */
    return first + second + always;
}

/* As SYSCALL_DEFINE() does it: a function, and one with the arguments' names that it calls. */
#define CALL_DEFINE(name)                                                                \
    static inline __attribute__((always_inline)) long do_##name(long number, int again); \
    long name(const struct pair* given);                                                 \
    long name(const struct pair* given) {                                                \
        long result = do_##name(given->low, (int)given->high);                           \
        marks = given->low;                                                              \
        return result;                                                                   \
    }                                                                                    \
    static inline __attribute__((always_inline)) long do_##name(long number, int again)

CALL_DEFINE(made) { /* LINE: made */
    marks = number;
    return again ? number * 3 : marks;
}

static inline __attribute__((always_inline)) void repeated(long number) { /* LINE: repeated */
    marks = number;
}

void repeating(void);

/* The compiler copies it with all that is inlined there. */
void repeating(void) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        repeated(i);
}
