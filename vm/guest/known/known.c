// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that count how often each of their lines runs: the truth that counters of blocks and
 * lines have to meet. Writing N to the parameter `run` calls each of them with 0 to N-1; `truth`
 * shows a line "LINE COUNT" for each that counts.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static volatile unsigned long count_of[128];
#define HERE (count_of[__LINE__]++)

/* Two loops, one in the other, a continue and a break. */
static noinline __noclone unsigned long known_loops(unsigned long n)
{
	unsigned long i, j, sum = 0;

	for (i = 0; i < n; i++) {
		HERE;
		if (i % 3 == 0) {
			HERE;
			continue;
		}
		for (j = i; j > 0; j /= 2) {
			HERE;
			sum += j ^ n;
			if (sum > 100000)
				break;
		}
		HERE;
	}
	return sum;
}

/* A switch whose cases do something else each, one of which falls through. */
static noinline __noclone unsigned long known_switch(unsigned long n)
{
	unsigned long sum = n;

	switch (n % 7) {
	case 0:
		HERE;
		sum *= 3;
		break;
	case 1:
		HERE;
		sum += 5;
		fallthrough;
	case 2:
		HERE;
		sum ^= 0x55;
		break;
	case 3:
		HERE;
		return sum / 2;
	case 5:
		HERE;
		sum -= n / 3;
		break;
	default:
		HERE;
	}
	HERE;
	return sum;
}

/* Inlined twice: its lines are those of both places. */
static __always_inline unsigned long known_step(unsigned long n)
{
	if (n & 1) {
		HERE;
		return 3 * n + 1;
	}
	HERE;
	return n / 2;
}

/* Early returns, a function inlined in two places, and a call. */
static noinline __noclone unsigned long known_returns(unsigned long n)
{
	unsigned long steps = 0;

	if (n < 2)
		return n;
	HERE;
	if (known_step(n + 1) % 5 == 0)
		return known_switch(n);
	while (n != 1 && steps < 20) {
		HERE;
		n = known_step(n);
		steps++;
	}
	HERE;
	return steps;
}

/* Its argument stays in rdi, where nothing needs it any more. Two instructions for probes. */
static noinline __noclone unsigned long argument_lasts(unsigned long n)
{
	unsigned long sum = 3 * n;

	asm volatile("nopl 8(%%rax,%%rax,1)\n\tnopl 8(%%rax,%%rax,1)" : "+a"(sum));
	return sum;
}

static unsigned long sink;
static volatile unsigned long marks;

/* Inlined twice into values_sum(). */
static __always_inline unsigned long values_add(unsigned long base, unsigned int step)
{
	unsigned long total = 3 * base + step;

	OPTIMIZER_HIDE_VAR(total);
	marks = total; /* VALUES: add */
	return total;
}

static noinline __noclone void values_fill(struct timespec64 *time, unsigned long n)
{
	time->tv_sec = n + 7;
	time->tv_nsec = 3 * n;
}

/* Locals in registers, on the stack, and for some lines in no place at all. */
static noinline __noclone unsigned long values_sum(unsigned long n, const char *word, bool odd)
{
	const int always = -5;
	unsigned long twice = 2 * n, first, second, gone = marks;
	struct timespec64 time;

	values_fill(&time, n);
	marks ^= gone; /* VALUES: gone */
	first = values_add(n, 1);
	second = values_add(twice, 2);
	marks = time.tv_sec + word[0];
	sink += marks + time.tv_nsec + odd; /* VALUES: end */
	return first + second + always;
}

/* Its argument lies in two registers, and in no memory. */
static noinline __noclone unsigned long values_pair(struct timespec64 pair, unsigned long n)
{
	marks = pair.tv_sec; /* VALUES: pair */
	return pair.tv_nsec + n;
}

static int run_set(const char *value, const struct kernel_param *param)
{
	unsigned long n, i;
	const int error = kstrtoul(value, 0, &n);

	for (i = 0; !error && i < n; i++)
		sink += known_loops(i) + known_switch(i) + known_returns(i) + argument_lasts(i) +
			values_sum(i, "word", i & 1) +
			values_pair((struct timespec64){ i + 11, 5 * i }, i);
	return error;
}

static int truth_get(char *buffer, const struct kernel_param *param)
{
	int length = 0;
	int line;

	for (line = 0; line < ARRAY_SIZE(count_of); line++)
		if (count_of[line])
			length += scnprintf(buffer + length, PAGE_SIZE - length, "%d %lu\n", line,
					    count_of[line]);
	return length;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
static const struct kernel_param_ops truth_ops = { .get = truth_get };
module_param_cb(run, &run_ops, NULL, 0200);
module_param_cb(truth, &truth_ops, NULL, 0400);

/* As long as this module is loaded, the kernel forbids probes in this function of its own. */
NOKPROBE_SYMBOL(kstrtobool_from_user);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Functions that count their lines themselves");
