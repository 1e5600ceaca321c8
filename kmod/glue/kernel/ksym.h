/* SPDX-License-Identifier: GPL-2.0 */
/* What others are told of our executable memory and of text that we write: names in stack traces
 * and /proc/kallsyms, events of perf. */
#ifndef DJPROBE_KMOD_KSYM_H
#define DJPROBE_KMOD_KSYM_H

#include <linux/types.h>

int djk_ksym_start(void);
/* Waits until all named memory has been freed. */
void djk_ksym_stop(void);

/* Name executable memory. Where that fails it stays without a name. Under the registry lock. */
void djk_ksym_add(void *memory, size_t size);
/*
 * Take the name away, and free the memory when no one can have found it by its name any more.
 * False: it has no name, and is the caller's to free. Under the registry lock.
 */
bool djk_ksym_del(void *memory, void (*free_memory)(void *memory));

/* The most bytes of text that one write replaces; what is longer are detours. */
#define DJK_POKED_BYTES 32

/* Whether perf may be told of writes, and of one. */
bool djk_tells_pokes(void);
void djk_tell_poke(unsigned long address, const void *old_bytes, size_t old_size,
		   const void *new_bytes, size_t new_size);

#endif
