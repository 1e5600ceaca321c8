/* SPDX-License-Identifier: GPL-2.0 */
/* Tells others about our executable memory, by names in stack traces and /proc/kallsyms, and about
 * text that we write, by events of perf. */
#ifndef DJPROBE_KMOD_KSYM_H
#define DJPROBE_KMOD_KSYM_H

#include <linux/types.h>

/* 0 or a negative errno. */
int djk_ksym_start(void);
/* Sleeps until all named memory has been freed. */
void djk_ksym_stop(void);

/* Name executable memory; where that fails the memory stays without a name. Under the registry
 * lock, as the next one. */
void djk_ksym_add(void *memory, size_t size);
/*
 * Take the name away, and free the memory when no reader can have found it by its name any more.
 * False: the memory has no name, and the caller must free it.
 */
bool djk_ksym_del(void *memory, void (*free_memory)(void *memory));

/* The most bytes of live text that one write replaces. Longer writes make detours. */
#define DJK_POKED_BYTES 32

/* Whether this kernel can tell perf about writes; and tell it about one. */
bool djk_tells_pokes(void);
void djk_tell_poke(unsigned long address, const void *old_bytes, size_t old_size,
		   const void *new_bytes, size_t new_size);

#endif
