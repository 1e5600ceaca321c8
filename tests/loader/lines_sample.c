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

static inline __attribute__((always_inline)) void once_each(void (*step)(long), long number) {
    step(number);
    marks = number;
    step(number + 1);
}

/* As RB_DECLARE_CALLBACKS() does it: all of the functions is on the line that names the macro. */
#define WHOLE_DEFINE(name)                                                          \
    static inline __attribute__((always_inline)) void name##_step(long number) {    \
        marks = number;                                                             \
        if (number > 3) marks = number * 3;                                         \
        marks = number + 1;                                                         \
    }                                                                               \
    static inline __attribute__((always_inline)) void name##_inlined(long number) { \
        marks = number;                                                             \
        if (number > 5) marks = number * 5;                                         \
        once_each(name##_step, number);                                             \
        marks = number + 2;                                                         \
    }                                                                               \
    void name(long number);                                                         \
    void name(long number) {                                                        \
        marks = number;                                                             \
        if (number > 7) name##_inlined(number);                                     \
        once_each(name##_step, number);                                             \
        marks = number + 3;                                                         \
    }

WHOLE_DEFINE(whole) /* LINE: whole */

void calls_whole(long number);

void calls_whole(long number) {
    marks = number;
    whole_inlined(number);
    if (number == 9) whole_inlined(number + 1);
    once_each(whole_step, number);
}

static inline __attribute__((always_inline)) long chosen(long policy, long nice) {
    if (policy == 6) return -1;
    if (policy == 1 || policy == 2) return 99 - nice;
    return nice + 120;
}

/* Its body is what it calls, which the compiler copies. */
static inline __attribute__((always_inline)) long choice(const struct pair* pair) { /* LINE: head */
    return chosen(pair->low, pair->high - 120);
}

void choosing(struct pair* pair, long policy, long nice);

void choosing(struct pair* pair, long policy, long nice) {
    marks = 1;
    if (nice < 5) return;
    pair->low = policy;
    if (policy == 6)
        marks = 6;
    else if (policy == 0 || policy == 3)
        pair->high = nice + 120;
    marks = choice(pair);
    fill(pair);
}

enum { kEarly = __LINE__ + 3 };

static inline __attribute__((always_inline)) void early(long number) {
    marks = number * 3; /* LINE: early */
}

void moving(long number);

void moving(long number) {
    marks = 1;
    /* As if the compiler had moved a part of the line here. */
    __asm__ volatile(".loc 1 %c0 11\n\tnop" ::"i"(kEarly));
    marks = 2;
    early(number);
}

extern long use(struct pair* pair);
extern unsigned long get(long number);

static inline __attribute__((always_inline)) void put(struct pair* pair, unsigned long flags) {
    if (flags & 1) fill(pair); /* LINE: put */
}

long using(long number);

/* The compiler puts copies of put() behind both ways. */
long using(long number) {
    long result = -9;
    unsigned long got;
    struct pair* pair;

    if (number < 0) return -22;
    got = get(number);
    pair = (struct pair*)(got & ~3UL);
    if (pair) {
        result = -29;
        if (pair->low & 16) result = use(pair);
        put(pair, got);
    }
    return result;
}

/* As the compiler splits a function, whose second part has the same name. */
static inline __attribute__((always_inline)) void split(long number) {
    inline __attribute__((always_inline)) void split(long rest) {
        marks = rest * 5;
        marks = rest + 5;
    }
    marks = number;
    if (number > 7) split(number - 7);
}

void splitting(long number);

void splitting(long number) {
    marks = 1;
    split(number);
}
