/* SPDX-License-Identifier: GPL-2.0 */
/* Memory for what there may be hundreds of thousands of. */
#ifndef DJPROBE_KMOD_MEMORY_H
#define DJPROBE_KMOD_MEMORY_H

/* Before all that allocates, and after all that frees. 0 or an errno. */
int djk_memory_start(void);
void djk_memory_stop(void);

/* DJK_COUNTER_SIZE bytes, zero-filled, or NULL. */
void *djk_alloc_counter(void);
void djk_free_counter(void *counter);

#endif
