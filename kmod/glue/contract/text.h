/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel: text, and executable memory. */
#ifndef DJPROBE_KMOD_CONTRACT_TEXT_H
#define DJPROBE_KMOD_CONTRACT_TEXT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keep out every other writer of kernel text, every change of a kprobe, and every CPU that would
 * come online or go offline (kprobe_mutex, cpus_read_lock(), text_mutex). */
void djk_text_lock(void);
void djk_text_unlock(void);
/* Write up to a page of kernel text. Under djk_text_lock(). Other CPUs may run the old bytes until
 * djk_text_sync(). */
void djk_text_write(unsigned long address, const void *bytes, size_t size);
/* Let every CPU run a serializing instruction. No CPU is then in an int3 handler that it entered
 * before the call. Under djk_text_lock(), with interrupts on. */
void djk_text_sync(void);

/*
 * Text that the policy changes, as it was before. The kernel's own kprobes see it when they decode
 * the text; the kernel then accepts and optimizes the same kprobes as without us, except on our
 * bytes. The policy shows a patch before it writes the first byte, and hides it after it has
 * restored the last one. It shows, changes and hides a patch under djk_text_lock().
 */
#define DJK_PATCH_MAX 32
struct djk_extent {
	unsigned long begin, end; /* a stretch of memory */
};
/* What may differ from the original now are the bytes [ours_begin, ours_end) from the address on:
 * the kernel puts no kprobe there. A patch is small, because there may be hundreds of thousands. */
struct djk_patch {
	struct djk_patch *next;
	const unsigned char *original; /* `length` bytes, which stay until the patch is hidden */
	unsigned long address;
	unsigned char length; /* at most DJK_PATCH_MAX */
	unsigned char ours_begin, ours_end;
	bool jump; /* our jump is there: its first byte may get a kprobe */
};
static inline struct djk_extent djk_ours(const struct djk_patch *patch)
{
	const struct djk_extent ours = { patch->address + patch->ours_begin,
					 patch->address + patch->ours_end };

	return ours;
}
void djk_show_patch(struct djk_patch *patch);
void djk_hide_patch(struct djk_patch *patch);
/* `bytes` are a copy of the text at `address`: replace in it what may differ from the original by
 * the original. Under djk_text_lock() since the text was copied. */
void djk_undo_patches(unsigned char *bytes, unsigned long address, size_t size);

/* Wait until no task is preempted, interrupted or running in any text or handler that was
 * unreachable when the call began. It takes tens of milliseconds. The caller holds neither the
 * registry lock nor djk_text_lock(): others would wait as long. */
void djk_quiesce(void);

/* Executable memory within +-2 GiB of all kernel and module text, filled with int3; only
 * djk_text_write() writes to it. `size` is a multiple of a page. NULL: out of memory. To
 * allocate takes text_mutex. Both run under the registry lock, except while the module loads. No
 * CPU may be in memory that is freed. */
void *djk_exec_alloc(size_t size);
void djk_exec_free(void *memory, size_t size);

#ifdef __cplusplus
}
#endif
#endif
