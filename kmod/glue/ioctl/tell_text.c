// SPDX-License-Identifier: GPL-2.0
/* The text as it is without our patches and without kprobes, for who analyses it outside of the
 * kernel. */
#include "tell_text.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/text-patching.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "../kernel.h"

/* Undo kprobes in a copy of text, as djk_undo_patches() does for ours. Under djk_text_lock(). */
static void undo_kprobes(unsigned char *bytes, unsigned long address, size_t size)
{
	const unsigned long end = address + size;
	unsigned char original[DJK_KPROBE_BYTES];
	unsigned long at;

	if (!djk_has_kprobes())
		return;
	/* The jump of a kprobe may begin before the copy. */
	for (at = address - (DJK_KPROBE_BYTES - 1); at < end; at++) {
		const unsigned long begin = max(at, address);
		const unsigned long stop = min(at + DJK_KPROBE_BYTES, end);
		unsigned char first = 0;

		if (at >= address)
			first = bytes[at - address];
		else if (!djk_read(&first, at, 1))
			continue;
		/* The kernel is not asked about each byte, nor about a tracer's call, which stays
		 * whole: of a kprobe that ftrace serves it would tell a nop. */
		if (first != INT3_INSN_OPCODE && first != JMP32_INSN_OPCODE)
			continue;
		if (djk_recover_foreign(at, original))
			memcpy(bytes + (begin - address), original + (begin - at), stop - begin);
	}
}

/* One moment's text. The caller has pinned its module. */
static bool copy_text(unsigned char *bytes, unsigned long address, size_t size)
{
	bool readable;

	djk_text_lock();
	readable = djk_read(bytes, address, size);
	if (readable) {
		undo_kprobes(bytes, address, size);
		djk_undo_patches(bytes, address, size);
	}
	djk_text_unlock();
	return readable;
}

/* 0 or a negative errno. The module of the text is pinned meanwhile: other things may lie where it
 * was. */
static int copy_pinned(unsigned char *bytes, unsigned long address, u32 *length)
{
	struct djk_extent text;
	int error = -EACCES;

	if (!djk_pin_target(address))
		return -EACCES;
	if (djk_text_extent(address, &text) && address >= text.begin && address < text.end) {
		*length = min_t(unsigned long, *length, text.end - address);
		error = copy_text(bytes, address, *length) ? 0 : -EACCES;
	}
	djk_unpin_target(address);
	return error;
}

int djk_tell_text(void __user *argument, bool addresses)
{
	struct djprobe_text text;
	unsigned char *bytes;
	int error = djk_read_struct(&text, sizeof(text), argument);

	if (error)
		return error;
	if (!text.length || text.length > DJPROBE_TEXT_MAX)
		return -EINVAL;
	if (!addresses || !djk_may_touch_text())
		return -EPERM;
	bytes = kvmalloc(text.length, GFP_KERNEL);
	if (!bytes)
		return -ENOMEM;
	error = copy_pinned(bytes, text.address, &text.length);
	if (!error && copy_to_user(u64_to_user_ptr(text.bytes), bytes, text.length))
		error = -EFAULT;
	kvfree(bytes);
	return error ? error : djk_write_struct(argument, &text, sizeof(text));
}
