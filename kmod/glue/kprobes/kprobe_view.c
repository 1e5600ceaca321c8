// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel's own kprobes see of the text that we patch.
 *
 * The kernel decodes live text for two questions: is this address an instruction's first byte, and
 * does a branch of this function lead into the five bytes that an optimized kprobe overwrites? It
 * undoes its own patches while it asks. It does not know ours: it does not see a branch that runs
 * in a detour, or that an int3 of ours hides, and its jump would break the branch's target. The
 * answers also outlive us: a kprobe that was optimized beside our site stays optimized.
 *
 * So ftrace leads four functions of the kernel through here, as it does for a live patch:
 *
 *   __recover_optprobed_insn       undoes a kprobe's jump for every decoder; here it also undoes
 *                                  what we have written, and nothing for a kprobe that is gone
 *   arch_prepare_kprobe            copies the probed instruction; refused (-EBUSY) on our bytes
 *   arch_prepare_optimized_kprobe  copies what a jump will overwrite; refused on our bytes
 *   arch_check_optimized_kprobe    the last look before a kprobe that was prepared earlier becomes
 *                                  a jump; refused on our bytes
 *
 * The kernel calls all of them with kprobe_mutex held. djk_text_lock() takes it too, and so it
 * guards the patches. text_mutex is not always held: optimize_all_kprobes(), and the end of one of
 * several kprobes at a place, ask the last question without it.
 *
 * A fault of ftrace may end that for one of them (6.1: fentry and fexit programs on it). The first
 * three notice that of each other: bytes are recovered only while a kprobe or its jump is prepared,
 * and always then.
 */
#include "kprobe_view.h"

#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../kernel/doubt.h"
#include "../kernel/imports.h"
#include "../kernel.h"

/* ---- The patches. Under djk_text_lock(). ---- */

#define LINE_SHIFT 6
#define LINES 8192

static struct djk_patch *lines[LINES];
/* The kernel copies the instruction at this address as it is: a jump of ours. 0: none. */
static unsigned long copied_as_is;

static struct djk_patch **line_of(unsigned long address)
{
	return &lines[(address >> LINE_SHIFT) % LINES];
}

/* How many patches are shown. */
static unsigned long shown;

void djk_show_patch(struct djk_patch *patch)
{
	struct djk_patch **line = line_of(patch->address);

	patch->next = *line;
	*line = patch;
	shown++;
}

void djk_hide_patch(struct djk_patch *patch)
{
	struct djk_patch **link = line_of(patch->address);

	while (*link != patch)
		link = &(*link)->next;
	*link = patch->next;
	shown--;
}

/* The first patch behind `after` (NULL: of all) that has a byte in [begin, end). A patch is listed
 * in the line where it begins. */
static struct djk_patch *next_patch(struct djk_patch *after, unsigned long begin, unsigned long end)
{
	const unsigned long first = begin - DJK_PATCH_MAX;
	unsigned long line = (after ? after->address : first) >> LINE_SHIFT;
	struct djk_patch *patch = after ? after->next : *line_of(first);

	for (;;) {
		for (; patch; patch = patch->next)
			if (patch->address >> LINE_SHIFT == line && patch->address < end &&
			    patch->address + patch->length > begin)
				return patch;
		if (++line > (end - 1) >> LINE_SHIFT)
			return NULL;
		patch = *line_of(line << LINE_SHIFT);
	}
}

static bool has_ours(const struct djk_patch *patch, unsigned long begin, unsigned long end)
{
	const struct djk_extent ours = djk_ours(patch);

	return ours.begin < ours.end && ours.begin < end && ours.end > begin;
}

/* The patch of which a byte in [begin, end) may differ from the original now. */
static struct djk_patch *find_ours(unsigned long begin, unsigned long end)
{
	struct djk_patch *patch = NULL;

	while ((patch = next_patch(patch, begin, end)))
		if (has_ours(patch, begin, end))
			return patch;
	return NULL;
}

/* Into `bytes`, which begin at `address`: what the patch hides in [begin, end), as far as both have
 * it. */
static void undo(unsigned char *bytes, unsigned long address, const struct djk_patch *patch,
		 unsigned long begin, unsigned long end)
{
	begin = max(begin, patch->address);
	end = min(end, patch->address + patch->length);
	memcpy(bytes + (begin - address), patch->original + (begin - patch->address), end - begin);
}

void djk_undo_patches(unsigned char *bytes, unsigned long address, size_t size)
{
	const unsigned long end = address + size;
	struct djk_patch *patch = NULL;

	while ((patch = next_patch(patch, address, end))) {
		const struct djk_extent ours = djk_ours(patch);

		if (has_ours(patch, address, end))
			undo(bytes, address, patch, max(address, ours.begin), min(end, ours.end));
	}
}

/* ---- The kprobes that have come. Under djk_text_lock(). ---- */

static unsigned long came[DJK_NEW_KPROBES];
static size_t came_count;

static void note_new(unsigned long address)
{
	if (came_count < DJK_NEW_KPROBES)
		came[came_count] = address;
	came_count++;
	djk_watch_kprobes();
}

size_t djk_take_new_kprobes(unsigned long addresses[DJK_NEW_KPROBES])
{
	const size_t count = came_count;

	memcpy(addresses, came, min(count, (size_t)DJK_NEW_KPROBES) * sizeof(*came));
	came_count = 0;
	return count;
}

/* ---- The four functions ---- */

enum hooked { RECOVER, PREPARE, PREPARE_JUMP, CHECK_JUMP, HOOKED };

/* Where each of them goes on behind its ftrace call. */
static unsigned long originals[HOOKED] __ro_after_init;

/* Under djk_text_lock(). */
static bool preparing; /* prepare() or prepare_jump() runs, or djk_recover() */
static bool recovered; /* recover() has run */

static unsigned long call_original(enum hooked hooked, unsigned long a, unsigned long b)
{
	return djk_call(originals[hooked], a, b, 0, 0, 0);
}

/* As call_original(), of those that recover bytes. */
static int call_preparing(enum hooked hooked, unsigned long a, unsigned long b)
{
	int error;

	preparing = true;
	error = djk_int(call_original(hooked, a, b));
	preparing = false;
	return error;
}

unsigned long djk_recover(unsigned char *bytes, unsigned long address)
{
	unsigned long place;

	preparing = true;
	place = djk_call2(recover_probed_instruction, bytes, address);
	preparing = false;
	return place;
}

static void tell_of_bypass(void)
{
	pr_warn_once("ftrace does not lead all calls here that it has agreed to: meanwhile kprobes "
		     "of the kernel are refused, near probes or everywhere\n");
}

/* Whether the kernel sees what is about `address` as it was: ftrace still leads to recover(), or
 * there is no patch. */
static bool is_recovered(unsigned long address)
{
	kprobe_opcode_t bytes[MAX_INSN_SIZE];

	if (!shown)
		return true;
	recovered = false;
	preparing = true;
	djk_call(originals[RECOVER] - MCOUNT_INSN_SIZE, (unsigned long)bytes, address, 0, 0, 0);
	preparing = false;
	if (!recovered)
		tell_of_bypass();
	return recovered;
}

/* What the kernel knows of the first byte at an address, by a kprobe that is there. */
struct first_byte {
	bool is_hidden; /* or may be: a kprobe has written its int3, or soon will */
	/* The kprobe went with its module, and stays listed. Another module's text may be there
	 * now, but the kernel would recover the old one's byte. */
	bool is_stale;
	kprobe_opcode_t original;
};

static struct first_byte first_byte_at(unsigned long address)
{
	struct first_byte byte = {};
	const struct kprobe *kprobe;

	preempt_disable();
	kprobe = (const struct kprobe *)djk_call1(get_kprobe, address);
	if (kprobe) {
		byte.is_stale = kprobe->flags & KPROBE_FLAG_GONE;
		byte.is_hidden = !(kprobe->flags & (KPROBE_FLAG_GONE | KPROBE_FLAG_FTRACE));
		byte.original = kprobe->opcode;
	}
	preempt_enable();
	return byte;
}

/* Returns where to read the bytes at `address` without any probes: in `bytes`, or in the text. 0:
 * they cannot be read. As __recover_optprobed_insn() does, which it calls first. */
static unsigned long recover(kprobe_opcode_t *bytes, unsigned long address)
{
	const unsigned long place = call_original(RECOVER, (unsigned long)bytes, address);
	struct djk_patch *patch = next_patch(NULL, address, address + MAX_INSN_SIZE);
	struct first_byte first;

	recovered = true;
	if (!preparing && patch) {
		tell_of_bypass();
		return 0;
	}
	if (!place || address == copied_as_is)
		return place;
	if (place == address) {
		first = first_byte_at(address);
		if (!patch && !first.is_stale)
			return place;
		if (copy_from_kernel_nofault(bytes, (void *)address, MAX_INSN_SIZE))
			return 0;
		/* The caller undoes a kprobe's int3 only where this function has undone nothing. */
		if (first.is_hidden)
			bytes[0] = first.original;
	}
	for (; patch; patch = next_patch(patch, address, address + MAX_INSN_SIZE))
		undo(bytes, address, patch, address, address + MAX_INSN_SIZE);
	return (unsigned long)bytes;
}

static int prepare(struct kprobe *kprobe)
{
	const unsigned long address = (unsigned long)kprobe->addr;
	const struct djk_patch *patch = find_ours(address, address + 1);
	int error;

	/* An int3 on the first byte of our jump works: the kprobe copies and runs our jump. */
	if ((patch && !(patch->jump && patch->address == address)) || !is_recovered(address))
		return -EBUSY;
	copied_as_is = patch ? address : 0;
	error = call_preparing(PREPARE, (unsigned long)kprobe, 0);
	copied_as_is = 0;
	if (!error)
		note_new(address);
	return error;
}

/* The jump changes no byte behind itself: an instruction of ours may begin there. */
static bool may_jump(const struct kprobe *kprobe)
{
	const unsigned long address = (unsigned long)kprobe->addr;

	return !find_ours(address, address + JMP32_INSN_SIZE);
}

static int prepare_jump(struct optimized_kprobe *kprobe, struct kprobe *unused)
{
	/* A second kprobe at a place asks for the jump without prepare(). */
	if (!may_jump(&kprobe->kp) || !is_recovered((unsigned long)kprobe->kp.addr))
		return -EBUSY;
	return call_preparing(PREPARE_JUMP, (unsigned long)kprobe, (unsigned long)unused);
}

static int check_jump(struct optimized_kprobe *kprobe)
{
	if (!may_jump(&kprobe->kp))
		return -EEXIST;
	return djk_int(call_original(CHECK_JUMP, (unsigned long)kprobe, 0));
}

static const struct {
	const char *name;
	void *replacement;
} hooks[] = {
	[RECOVER] = { "__recover_optprobed_insn", recover },
	[PREPARE] = { "arch_prepare_kprobe", prepare },
	[PREPARE_JUMP] = { "arch_prepare_optimized_kprobe", prepare_jump },
	[CHECK_JUMP] = { "arch_check_optimized_kprobe", check_jump },
};

/* ---- How calls get here ---- */

static void notrace lead_here(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			      struct ftrace_regs *fregs)
{
	struct pt_regs *const regs = ftrace_get_regs(fregs);
	enum hooked hooked;

	for (hooked = 0; hooked < HOOKED; hooked++)
		if (ip + MCOUNT_INSN_SIZE == originals[hooked])
			regs->ip = (unsigned long)hooks[hooked].replacement;
}
NOKPROBE_SYMBOL(lead_here);

/* Not the module's memory: an ftrace that has found itself broken keeps it enabled and in its lists
 * for good, and the kernel reads these for each stack that it unwinds. */
static struct ftrace_ops *ops;

static int find_originals(struct djk_doubt *doubt)
{
	unsigned long location;
	enum hooked hooked;
	int error;

	for (hooked = 0; hooked < HOOKED; hooked++) {
		location = djk_lookup(hooks[hooked].name);
		location = location ? djk_call1(ftrace_location, location) : 0;
		if (!location) {
			djk_doubt(doubt,
				  "ftrace cannot follow %s; use a kernel with "
				  "CONFIG_DYNAMIC_FTRACE_WITH_REGS and CONFIG_OPTPROBES",
				  hooks[hooked].name);
			return -EOPNOTSUPP;
		}
		originals[hooked] = location + MCOUNT_INSN_SIZE;
		error = ftrace_set_filter_ip(ops, location, 0, 0);
		if (error) {
			djk_doubt(doubt, "ftrace refuses to follow %s (%d)", hooks[hooked].name,
				  error);
			return error;
		}
	}
	return 0;
}

/*
 * When ftrace has found itself broken, it leaves its calls in the text. The kernel calls the four
 * functions under kprobe_mutex: no CPU is on one of these calls while we hold it.
 */
static void take_calls_away(void)
{
	static const u8 nop[MCOUNT_INSN_SIZE] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	enum hooked hooked;

	djk_text_lock();
	for (hooked = 0; hooked < HOOKED; hooked++)
		djk_text_write(originals[hooked] - MCOUNT_INSN_SIZE, nop, sizeof(nop));
	djk_text_sync();
	djk_text_unlock();
}

static void free_ops(void)
{
	if (ops->flags & FTRACE_OPS_FL_ENABLED)
		return;
	ftrace_free_filter(ops);
	/* A reader of /proc/kallsyms may stand on what ftrace has just taken out of its lists. */
	synchronize_rcu();
	kfree(ops);
	ops = NULL;
}

int djk_kprobe_view_start(struct djk_doubt *doubt)
{
	int error;

	ops = kzalloc(sizeof(*ops), GFP_KERNEL);
	if (!ops)
		return -ENOMEM;
	ops->func = lead_here;
	/* Permanent: the kernel refuses to switch ftrace off as long as this is registered. */
	ops->flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT;
	error = find_originals(doubt);
	if (!error) {
		error = register_ftrace_function(ops);
		if (error)
			djk_doubt(doubt,
				  "ftrace does not lead them here (%d): set "
				  "kernel.ftrace_enabled to 1, and unload a live patch of them",
				  error);
	}
	if (error)
		free_ops();
	return error;
}

void djk_kprobe_view_stop(void)
{
	if (unregister_ftrace_function(ops))
		take_calls_away();
	free_ops();
	/* A task that ftrace has led here holds kprobe_mutex until it has returned. */
	djk_text_lock();
	djk_text_unlock();
}
