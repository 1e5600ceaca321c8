// SPDX-License-Identifier: GPL-2.0
/* Which bytes of text the kernel patches or owns, and where no probe may be. */
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <asm/text-patching.h>

#include "fragile.h"
#include "imports.h"
#include "../kernel.h"
#include "text_of.h"

static bool within(unsigned long address, unsigned long begin, unsigned long end)
{
	return address >= begin && address < end;
}

/* A trampoline of static calls ends in a mark, by which the kernel itself knows it. */
static bool is_static_call_trampoline(unsigned long address)
{
	static const unsigned char mark[] = { 0x0f, 0xb9, 0xcc };
	unsigned char bytes[CALL_INSN_SIZE + sizeof(mark)];
	unsigned long start, size;

	return djk_symbol_range(address, &start, &size) && djk_read(bytes, start, sizeof(bytes)) &&
	       !memcmp(bytes + CALL_INSN_SIZE, mark, sizeof(mark));
}

/*
 * FRAGILE_TEXT for a live patch with calls that the kernel fills in when it loads the module that
 * is patched: it expects zeros there.
 */
static unsigned int forbidden_in_live_patch(struct module *module)
{
	unsigned int reason = DJPROBE_REASON_NONE;
#ifdef CONFIG_LIVEPATCH
	static const char of_kernel[] = ".klp.rela.vmlinux.";
	const struct klp_modinfo *info;
	const Elf_Shdr *section;

	if (!module->klp)
		return DJPROBE_REASON_NONE;
	/* The kernel makes the section headers after the text, and frees them before it, without a
	 * grace period. */
	if (!try_module_get(module))
		return DJPROBE_REASON_MODULE_LEAVING;
	info = module->state == MODULE_STATE_LIVE ? module->klp_info : NULL;
	if (!info) {
		module_put(module);
		return DJPROBE_REASON_MODULE_LEAVING;
	}
	for (section = info->sechdrs; section < info->sechdrs + info->hdr.e_shnum; section++)
		if (section->sh_flags & SHF_RELA_LIVEPATCH &&
		    strncmp(info->secstrings + section->sh_name, of_kernel, sizeof(of_kernel) - 1))
			reason = DJPROBE_REASON_FRAGILE_TEXT;
	module_put(module);
#endif
	return reason;
}

/* Why no probe may be at this place, but for what is decided function by function. */
static unsigned int forbidden_place(unsigned long address)
{
	unsigned int reason = DJPROBE_REASON_NONE;
	struct module *module;

	if (djk_is_init_text(address))
		return DJPROBE_REASON_INIT_TEXT;
	if (within_module_core(address, THIS_MODULE) || within_module_init(address, THIS_MODULE))
		return DJPROBE_REASON_OWN_TEXT;
	if (!djk_is_core_text(address)) {
		preempt_disable();
		module = djk_text_module(address);
		if (!module)
			reason = DJPROBE_REASON_NOT_TEXT;
		else if (within_module_init(address, module))
			reason = DJPROBE_REASON_INIT_TEXT;
		else
			reason = forbidden_in_live_patch(module);
		preempt_enable();
		if (reason)
			return reason;
		/* A module keeps no section that would say so. */
		if (is_static_call_trampoline(address))
			return DJPROBE_REASON_STATIC_CALL;
	}
	if (within(address, djk_imports.__cpuidle_text_start, djk_imports.__cpuidle_text_end))
		return DJPROBE_REASON_IDLE_TEXT;
	/* Trampolines of static calls: when the call changes, the kernel BUGs on bytes that it has
	 * not written. */
	if (within(address, djk_imports.__static_call_text_start,
		   djk_imports.__static_call_text_end))
		return DJPROBE_REASON_STATIC_CALL;
	return DJPROBE_REASON_NONE;
}

static unsigned int fragile_reason(unsigned long address)
{
	return djk_is_fragile(address) ? DJPROBE_REASON_FRAGILE_TEXT : DJPROBE_REASON_NONE;
}

unsigned int djk_forbidden(unsigned long address)
{
	const unsigned int reason = forbidden_place(address);

	if (reason)
		return reason;
	if (djk_bool(djk_call1(within_kprobe_blacklist, address)))
		return DJPROBE_REASON_BLACKLISTED;
	return fragile_reason(address);
}

unsigned int djk_forbidden_in_unlisted(unsigned long address)
{
	const unsigned int reason = forbidden_place(address);

	return reason ? reason : fragile_reason(address);
}

/* The reason why the kernel itself may patch these bytes at any time, or NONE. */
static unsigned int patched_by_kernel(unsigned long begin, unsigned long end)
{
	if (djk_call2(ftrace_location_range, begin, end - 1))
		return DJPROBE_REASON_FTRACE_SITE;
	/* Unlike the other functions, this one takes the end as exclusive. A kernel that keeps its
	 * lock prefixes whatever the number of CPUs has none. */
	if (djk_imports.alternatives_text_reserved &&
	    djk_int(djk_call2(alternatives_text_reserved, begin, end)))
		return DJPROBE_REASON_ALTERNATIVE;
	return DJPROBE_REASON_NONE;
}

/*
 * As arch_jump_entry_size() says, without decoding: a label is a jump or a nop, of 2 or of 5 bytes.
 * (jump_label_text_reserved() decodes every label that there is.) Under text_mutex, which the
 * kernel holds while it rewrites one.
 */
static size_t label_size(unsigned long address)
{
	const u8 first = READ_ONCE(*(const u8 *)address);

	return first == 0xeb || first == 0x66 ? 2 : 5;
}

struct rewrites {
	unsigned long address;
	unsigned char *reasons;
	size_t count;
};

static void mark_rewritten(void *context, unsigned int kind, unsigned long place,
			   unsigned long target)
{
	const struct rewrites *rewrites = context;
	const unsigned long end = rewrites->address + rewrites->count;
	unsigned char reason = DJPROBE_REASON_STATIC_CALL;
	size_t size = CALL_INSN_SIZE;
	unsigned long at;

	if (place >= end || place + CALL_INSN_SIZE <= rewrites->address)
		return;
	if (kind == DJK_FLOW_LABEL) {
		reason = DJPROBE_REASON_JUMP_LABEL;
		size = label_size(place);
	}
	for (at = max(place, rewrites->address); at < min(place + size, end); at++)
		rewrites->reasons[at - rewrites->address] = reason;
}

/* A BUG is a ud0, ud1 or ud2: to look first spares most addresses a linear search. */
#define BUG_BYTES 3
static bool is_bug(unsigned long address, const unsigned char bytes[BUG_BYTES])
{
	const unsigned char prefix = 0x67;
	const unsigned char *opcode = bytes + (*bytes == prefix);

	if (opcode[0] != 0x0f || (opcode[1] != 0x0b && opcode[1] != 0xb9 && opcode[1] != 0xff))
		return false;
	return djk_call1(find_bug, address);
}

/* Whether an instruction in [begin, end) may have an exception-table entry. Bytes on the edge of a
 * module's text may belong to others. */
static bool may_have_fixups(unsigned long begin, unsigned long end)
{
	const bool core = djk_is_core_text(begin);

	if (core != djk_is_core_text(end - 1))
		return true;
	if (!core && djk_text_module(begin) != djk_text_module(end - 1))
		return true;
	return djk_has_fixups(begin, end);
}

/* A few bytes of text, and what need not be asked about each of them. With preemption off. */
#define STRETCH 16
struct stretch {
	unsigned char bytes[STRETCH + BUG_BYTES - 1];
	bool readable, patched, fixups;
};

static void look_at(struct stretch *stretch, unsigned long begin, size_t size)
{
	stretch->readable = djk_read(stretch->bytes, begin, size + BUG_BYTES - 1);
	stretch->patched = patched_by_kernel(begin, begin + size);
	stretch->fixups = may_have_fixups(begin, begin + size);
}

static bool is_bug_in(const struct stretch *stretch, unsigned long address, size_t at)
{
	unsigned char bytes[BUG_BYTES];

	if (stretch->readable)
		return is_bug(address, stretch->bytes + at);
	/* The last bytes of a text: what is behind them is not mapped. */
	return djk_read(bytes, address, sizeof(bytes)) && is_bug(address, bytes);
}

static unsigned int reserved_byte(const struct stretch *stretch, unsigned long address, size_t at,
				  unsigned int rewritten)
{
	unsigned int reason = stretch->patched ? patched_by_kernel(address, address + 1) : 0;

	if (!reason)
		reason = rewritten;
	if (reason)
		return reason;
	if (is_bug_in(stretch, address, at))
		return DJPROBE_REASON_BUG_SITE;
	if (stretch->fixups && djk_call1(search_exception_tables, address))
		return DJPROBE_REASON_EXTABLE_INSN;
	if (djk_call1(get_kprobe, address))
		return DJPROBE_REASON_FOREIGN_PATCH;
	return DJPROBE_REASON_NONE;
}

void djk_reserved(unsigned long address, unsigned char *reasons, size_t count)
{
	struct mutex *const text_mutex = (struct mutex *)djk_imports.text_mutex;
	struct rewrites rewrites = { address, reasons, count };
	const bool may_be_rewritten = memchr_inv(reasons, 0, count);
	struct stretch stretch;
	size_t i;

	memset(reasons, 0, count);
	djk_call0(jump_label_lock);
	/* Not djk_text_lock(), because kprobe_mutex comes before jump_label_mutex in the order. */
	mutex_lock(text_mutex);
	/* The site is in the middle. Bytes before it may lie outside its module's text. */
	if (may_be_rewritten)
		djk_visit_rewritten_near(address + count / 2, address - CALL_INSN_SIZE,
					 address + count, mark_rewritten, &rewrites);
	preempt_disable();
	/* Most stretches of text hold nothing that has an owner. Ask byte by byte only in the
	 * others. */
	for (i = 0; i < count; i++) {
		if (i % STRETCH == 0)
			look_at(&stretch, address + i, min_t(size_t, STRETCH, count - i));
		reasons[i] = reserved_byte(&stretch, address + i, i % STRETCH, reasons[i]);
	}
	preempt_enable();
	mutex_unlock(text_mutex);
	djk_call0(jump_label_unlock);
}
