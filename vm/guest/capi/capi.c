// SPDX-License-Identifier: GPL-2.0
/*
 * Tests djprobe's in-kernel API from a module: writing to the parameter `run` runs
 * all of them on functions of our own and fails with the line of the first that
 * does not hold in the log.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/task.h>

#include "../api/djprobe_api.h"
#include "../api/djprobe_reason.h"

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			pr_err("capi: line %d: %s\n", __LINE__, #condition);                       \
			return -EINVAL;                                                            \
		}                                                                                  \
	} while (0)

static __attribute__((noipa)) int target(int value)
{
	/* Something that the compiler cannot foresee, and longer than a jump. */
	asm volatile("nopl 0x12345678(%%rax)" : "+r"(value));
	return value * 3 + 1;
}

static __attribute__((noipa)) int replacement(int value)
{
	asm volatile("" : "+r"(value));
	return value - 1000;
}

static int calls, after_calls;
static unsigned long seen_ip, after_ip;

static int count(struct djprobe *probe, struct pt_regs *regs)
{
	calls++;
	seen_ip = regs->ip;
	return 0;
}

static int change_argument(struct djprobe *probe, struct pt_regs *regs)
{
	regs->di = 100;
	return 0;
}

static int go_elsewhere(struct djprobe *probe, struct pt_regs *regs)
{
	regs->ip = (unsigned long)replacement;
	return 1;
}

static int stray_ip(struct djprobe *probe, struct pt_regs *regs)
{
	regs->ip = 1;
	return 0;
}

static int nested(struct djprobe *probe, struct pt_regs *regs)
{
	target(1);
	return 0;
}

static void count_after(struct djprobe *probe, struct pt_regs *regs, unsigned long flags)
{
	after_calls++;
	after_ip = regs->ip;
}

/* The optimizer has been there; a machine that has other work may take its time. */
static bool becomes_a_jump(const void *site)
{
	const u8 jump = 0xe9;
	int i;

	for (i = 0; i < 1500 && READ_ONCE(*(const u8 *)site) != jump; i++)
		msleep(20);
	return READ_ONCE(*(const u8 *)site) == jump;
}

/* Both modes: at once it is int3, as a rule. */
static int call_in_both_modes(struct djprobe *probe, int value, int expected)
{
	EXPECT(target(value) == expected);
	EXPECT(becomes_a_jump(probe->addr));
	EXPECT(target(value) == expected);
	return 0;
}

static int test_handlers(void)
{
	struct djprobe probe = { .addr = target, .pre_handler = count };
	unsigned long hits, missed;
	void *entry;

	calls = after_calls = 0;
	EXPECT(register_djprobe(&probe) == 0);
	EXPECT(call_in_both_modes(&probe, 7, 22) == 0);
	EXPECT(calls == 2 && seen_ip == (unsigned long)probe.addr);
	djprobe_counts(&probe, &hits, &missed);
	EXPECT(hits == 2 && missed == 0);
	entry = probe.addr;
	unregister_djprobe(&probe);
	EXPECT(target(7) == 22 && calls == 2);

	probe = (struct djprobe){ .addr = target, .pre_handler = change_argument };
	EXPECT(register_djprobe(&probe) == 0);
	EXPECT(call_in_both_modes(&probe, 7, 301) == 0);
	unregister_djprobe(&probe);

	probe = (struct djprobe){ .addr = target, .pre_handler = go_elsewhere };
	EXPECT(register_djprobe(&probe) == 0);
	EXPECT(call_in_both_modes(&probe, 7, -993) == 0);
	unregister_djprobe(&probe);

	probe = (struct djprobe){ .addr = target, .pre_handler = stray_ip };
	EXPECT(register_djprobe(&probe) == 0);
	EXPECT(call_in_both_modes(&probe, 7, 22) == 0);
	unregister_djprobe(&probe);

	probe = (struct djprobe){ .addr = target, .pre_handler = nested };
	EXPECT(register_djprobe(&probe) == 0);
	EXPECT(call_in_both_modes(&probe, 7, 22) == 0);
	djprobe_counts(&probe, &hits, &missed);
	EXPECT(hits == 2 && missed == 2);
	unregister_djprobe(&probe);

	calls = 0;
	probe = (struct djprobe){ .addr = target,
				  .pre_handler = count,
				  .post_handler = count_after };
	EXPECT(register_djprobe(&probe) == 0);
	EXPECT(probe.addr == entry);
	EXPECT(call_in_both_modes(&probe, 7, 22) == 0);
	EXPECT(calls == 2 && after_calls == 2 && after_ip > (unsigned long)entry);
	unregister_djprobe(&probe);
	return 0;
}

static int test_many(void)
{
	struct djprobe one = { .addr = target, .pre_handler = count };
	struct djprobe two = { .addr = target,
			       .pre_handler = change_argument,
			       .flags = DJPROBE_DISABLED };
	struct djprobe bad = { .symbol_name = "no_such_function", .pre_handler = count };
	struct djprobe *good[] = { &one, &two }, *all[] = { &one, &two, &bad };
	unsigned long hits, missed;

	calls = 0;
	EXPECT(register_djprobes(all, 3) == -ENOENT);
	EXPECT(bad.reason == DJPROBE_REASON_NO_SUCH_SYMBOL);
	EXPECT(target(7) == 22 && calls == 0);
	EXPECT(register_djprobes(good, 2) == 0);
	EXPECT(call_in_both_modes(&one, 7, 22) == 0);
	EXPECT(enable_djprobe(&two) == 0);
	EXPECT(call_in_both_modes(&one, 7, 301) == 0);
	disable_djprobe(&two);
	EXPECT(call_in_both_modes(&one, 7, 22) == 0);
	djprobe_counts(&two, &hits, &missed);
	EXPECT(hits == 2 && calls == 6);
	unregister_djprobes(good, 2);
	EXPECT(target(7) == 22 && calls == 6);
	return 0;
}

/* ---- Returns ---- */

static int begun, ended;
static unsigned long returned_value;

struct kept {
	int value;
	char more[40];
};

/* Even arguments are of no interest. */
static int begin(struct djretprobe *probe, struct pt_regs *regs, void *data)
{
	struct kept *kept = data;

	begun++;
	kept->value = regs->di;
	return !(regs->di & 1);
}

static void end(struct djretprobe *probe, struct pt_regs *regs, void *data)
{
	const struct kept *kept = data;

	ended += kept->value;
	returned_value = regs->ax;
	regs->ax += 1000;
}

static void count_return(struct djretprobe *probe, struct pt_regs *regs, void *data)
{
	ended++;
}

static __attribute__((noipa)) int descend(int depth)
{
	asm volatile("nopl 0x12345678(%%rax)" : "+r"(depth));
	if (depth)
		depth = descend(depth - 1);
	asm volatile("" : "+r"(depth));
	return depth;
}

static DECLARE_COMPLETION(inside);
static DECLARE_COMPLETION(may_leave);

static __attribute__((noipa)) int stay(void *unused)
{
	asm volatile("nopl 0x12345678(%%rax)" ::: "memory");
	complete(&inside);
	wait_for_completion(&may_leave);
	return 0;
}

static void come_and_go(void)
{
	complete(&may_leave);
	stay(NULL);
	wait_for_completion(&inside);
}

/* Calls that return while it is disabled give back what they have of the four. */
static int test_disabling(void)
{
	struct djretprobe probe = {
		.addr = stay, .handler = count_return, .maxactive = 4, .flags = DJPROBE_DISABLED
	};
	unsigned long hits, missed;
	struct task_struct *task;
	int i;

	ended = 0;
	EXPECT(register_djretprobe(&probe) == 0);
	come_and_go();
	for (i = 0; i < 6; i++) {
		EXPECT(enable_djretprobe(&probe) == 0);
		task = kthread_create(stay, NULL, "stay");
		EXPECT(!IS_ERR(task));
		get_task_struct(task);
		wake_up_process(task);
		wait_for_completion(&inside);
		disable_djretprobe(&probe);
		complete(&may_leave);
		kthread_stop(task);
		put_task_struct(task);
	}
	EXPECT(enable_djretprobe(&probe) == 0);
	come_and_go();
	djretprobe_counts(&probe, &hits, &missed);
	EXPECT(hits == 1 && ended == 1 && missed == 0);
	unregister_djretprobe(&probe);
	return 0;
}

static int test_returns(void)
{
	struct djretprobe probe = { .addr = target,
				    .entry_handler = begin,
				    .handler = end,
				    .data_size = sizeof(struct kept) };
	unsigned long hits, missed;
	int i;

	begun = ended = 0;
	EXPECT(register_djretprobe(&probe) == 0);
	for (i = 0; i < 2; i++) {
		EXPECT(target(7) == 1022 && returned_value == 22);
		EXPECT(target(6) == 19);
		EXPECT(becomes_a_jump(probe.addr));
	}
	EXPECT(begun == 4 && ended == 14);
	djretprobe_counts(&probe, &hits, &missed);
	EXPECT(hits == 2 && missed == 0);
	unregister_djretprobe(&probe);
	EXPECT(target(7) == 22 && begun == 4);

	ended = 0;
	probe = (struct djretprobe){ .addr = descend, .handler = count_return, .maxactive = 4 };
	EXPECT(register_djretprobe(&probe) == 0);
	for (i = 0; i < 2; i++) {
		EXPECT(descend(9) == 0);
		EXPECT(becomes_a_jump(probe.addr));
	}
	djretprobe_counts(&probe, &hits, &missed);
	EXPECT(hits == 8 && ended == 8 && missed == 12);
	unregister_djretprobe(&probe);

	probe = (struct djretprobe){ .addr = descend };
	EXPECT(register_djretprobe(&probe) == -EINVAL);
	probe = (struct djretprobe){ .symbol_name = "do_exit", .handler = count_return };
	EXPECT(register_djretprobe(&probe) == -EACCES && probe.reason == DJPROBE_REASON_NO_RETURN);
	return 0;
}

static int test_refusals(void)
{
	struct djprobe probe = { .addr = target };

	EXPECT(register_djprobe(&probe) == -EINVAL);
	probe.pre_handler = count;
	probe.flags = 1 << 30;
	EXPECT(register_djprobe(&probe) == -EINVAL);
	probe.flags = 0;
	probe.symbol_name = "vfs_read";
	EXPECT(register_djprobe(&probe) == -EINVAL);
	probe.symbol_name = NULL;
	probe.addr = (void *)register_djprobe;
	EXPECT(register_djprobe(&probe) == -EACCES && probe.reason == DJPROBE_REASON_OWN_TEXT);
	return 0;
}

static __attribute__((noipa)) int jumper(int value)
{
	asm volatile("jmp 1f\n\tnop\n1:" : "+r"(value));
	return value + 1;
}

static void *find_jump_of(void *function)
{
	static const u8 jump[] = { 0xeb, 1, 0x90 };
	int i;

	/* Else the loop's end is an address that no code may call, which objtool complains about.
	 */
	OPTIMIZER_HIDE_VAR(function);
	for (i = 0; i < 64; i++)
		if (!memcmp(function + i, jump, sizeof(jump)))
			return function + i;
	return NULL;
}

/* Each bound that the header names, at it and beyond it. */
static int test_bounds(void)
{
	struct djprobe probe = { .addr = target, .pre_handler = count, .flags = DJPROBE_INT3_ONLY };
	struct djprobe *none[] = { NULL };
	struct djretprobe bounded = { .addr = target,
				      .handler = count_return,
				      .data_size = DJPROBE_RETURN_DATA_MAX,
				      .maxactive = 1 };

	calls = 0;
	EXPECT(register_djprobe(&probe) == 0 && probe.reason == DJPROBE_REASON_MODE_INT3);
	msleep(300);
	EXPECT(*(u8 *)probe.addr == 0xcc);
	EXPECT(target(7) == 22 && calls == 1);
	unregister_djprobe(&probe);
	EXPECT(*(u8 *)probe.addr != 0xcc);

	probe = (struct djprobe){ .addr = find_jump_of(jumper), .post_handler = count_after };
	EXPECT(probe.addr);
	EXPECT(register_djprobe(&probe) == -EACCES);
	EXPECT(probe.reason == DJPROBE_REASON_POST_AT_BRANCH);
	after_calls = calls = 0;
	EXPECT(jumper(1) == 2 && after_calls == 0);
	probe = (struct djprobe){ .addr = find_jump_of(jumper), .pre_handler = count };
	EXPECT(register_djprobe(&probe) == 0);
	EXPECT(jumper(1) == 2 && calls == 1);
	unregister_djprobe(&probe);

	EXPECT(register_djprobes(none, 0) == -EINVAL);
	EXPECT(register_djprobes(none, -1) == -EINVAL);

	ended = 0;
	EXPECT(register_djretprobe(&bounded) == 0);
	EXPECT(target(7) == 22 && ended == 1);
	unregister_djretprobe(&bounded);
	bounded = (struct djretprobe){ .addr = target,
				       .handler = count_return,
				       .data_size = DJPROBE_RETURN_DATA_MAX + 1 };
	EXPECT(register_djretprobe(&bounded) == -EINVAL && bounded.reason == 0);
	bounded = (struct djretprobe){ .addr = target,
				       .handler = count_return,
				       .maxactive = DJPROBE_RETURN_ACTIVE_MAX + 1 };
	EXPECT(register_djretprobe(&bounded) == -EINVAL && bounded.reason == 0);
	return 0;
}

/* ---- Callers that are wrong about what is registered ---- */

static struct djprobe raced = { .addr = target, .pre_handler = count };

static int unregister_raced(void *unused)
{
	unregister_djprobe(&raced);
	return 0;
}

/* One of them does it, the other is told that there is nothing to do. */
static int unregister_twice_at_once(void)
{
	struct task_struct *task;
	int i;

	for (i = 0; i < 20; i++) {
		raced.addr = target;
		EXPECT(register_djprobe(&raced) == 0);
		task = kthread_create(unregister_raced, NULL, "unregister");
		EXPECT(!IS_ERR(task));
		get_task_struct(task);
		wake_up_process(task);
		unregister_djprobe(&raced);
		kthread_stop(task);
		put_task_struct(task);
	}
	return 0;
}

static int test_unregistered(void)
{
	struct djprobe never = { .addr = target, .pre_handler = count }, garbage = never, failed,
		       twice = never;
	struct djretprobe never_return = { .addr = target, .handler = count_return },
			  return_twice = never_return;
	struct djprobe *same[] = { &twice, &twice }, *mixed[] = { &never, &twice };
	unsigned long hits = 1, missed = 1;

	calls = 0;
	EXPECT(enable_djprobe(&never) == -EINVAL);
	disable_djprobe(&never);
	unregister_djprobe(&never);
	djprobe_counts(&never, &hits, &missed);
	EXPECT(hits == 0 && missed == 0);
	EXPECT(enable_djretprobe(&never_return) == -EINVAL);
	disable_djretprobe(&never_return);
	unregister_djretprobe(&never_return);

	/* Whatever memory held before. */
	memset(&garbage, 0x5a, sizeof(garbage));
	EXPECT(enable_djprobe(&garbage) == -EINVAL);
	disable_djprobe(&garbage);
	unregister_djprobe(&garbage);
	djprobe_counts(&garbage, &hits, &missed);
	EXPECT(hits == 0 && missed == 0);

	failed = (struct djprobe){ .symbol_name = "no_such_function", .pre_handler = count };
	EXPECT(register_djprobe(&failed) == -ENOENT);
	unregister_djprobe(&failed);

	EXPECT(register_djprobe(&twice) == 0);
	EXPECT(register_djprobe(&twice) == -EINVAL);
	EXPECT(target(7) == 22 && calls == 1);
	unregister_djprobe(&twice);
	unregister_djprobe(&twice);
	EXPECT(enable_djprobe(&twice) == -EINVAL);
	EXPECT(target(7) == 22 && calls == 1);
	twice.addr = target;
	EXPECT(register_djprobes(same, 2) == -EINVAL);
	EXPECT(target(7) == 22 && calls == 1);
	EXPECT(register_djprobe(&twice) == 0);
	unregister_djprobes(mixed, 2);
	EXPECT(target(7) == 22 && calls == 1);

	ended = 0;
	EXPECT(register_djretprobe(&return_twice) == 0);
	EXPECT(register_djretprobe(&return_twice) == -EINVAL);
	EXPECT(target(7) == 22 && ended == 1);
	unregister_djretprobe(&return_twice);
	unregister_djretprobe(&return_twice);
	EXPECT(target(7) == 22 && ended == 1);
	return unregister_twice_at_once();
}

static int run(const char *value, const struct kernel_param *parameter)
{
	int error = test_handlers();

	if (!error)
		error = test_many();
	if (!error)
		error = test_returns();
	if (!error)
		error = test_disabling();
	if (!error)
		error = test_bounds();
	if (!error)
		error = test_unregistered();
	return error ? error : test_refusals();
}

static const struct kernel_param_ops run_ops = { .set = run };
module_param_cb(run, &run_ops, NULL, 0200);

static int __init capi_init(void)
{
	return 0;
}

static void __exit capi_exit(void)
{
}

module_init(capi_init);
module_exit(capi_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of djprobe's in-kernel API");
