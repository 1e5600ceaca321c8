// SPDX-License-Identifier: GPL-2.0
/* Memory. */
#include "memory.h"

#include <linux/mm.h>
#include <linux/slab.h>

#include "../hit/handler.h"
#include "../kernel.h"

/*
 * kmalloc() has no room of these sizes. A kernel that can is told to keep them apart from all else:
 * it then says at unloading when one is left.
 */
#ifndef SLAB_NO_MERGE
#define SLAB_NO_MERGE 0
#endif

static struct kmem_cache *caches[DJK_LASTING_SITES + 1], *counters;

static bool make_cache(struct kmem_cache **cache, const char *name, unsigned int size)
{
	*cache = kmem_cache_create(name, size, 0, SLAB_NO_MERGE, NULL);
	return *cache;
}

int djk_memory_start(void)
{
	if (make_cache(&caches[DJK_PROBES], "djprobe_probe", DJK_PROBE_SIZE) &&
	    make_cache(&caches[DJK_SITES], "djprobe_site", DJK_SITE_SIZE) &&
	    make_cache(&caches[DJK_LASTING_SITES], "djprobe_lasting", DJK_LASTING_SITE_SIZE) &&
	    make_cache(&counters, "djprobe_counter", DJK_COUNTER_SIZE))
		return 0;
	djk_memory_stop();
	return -ENOMEM;
}

void djk_memory_stop(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(caches); i++)
		kmem_cache_destroy(caches[i]);
	kmem_cache_destroy(counters);
}

bool djk_may_take(enum djk_kind kind, size_t count)
{
	const size_t pages = count * kmem_cache_size(caches[kind]) / PAGE_SIZE;

	/* Half of it: what another task asks for meanwhile must not be what kills one. */
	return (long)pages <= si_mem_available() / 2;
}

void *djk_take(enum djk_kind kind)
{
	return kmem_cache_zalloc(caches[kind], GFP_KERNEL);
}

void *djk_attempt(enum djk_kind kind)
{
	return kmem_cache_zalloc(caches[kind], GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

void *djk_insist(enum djk_kind kind)
{
	return kmem_cache_zalloc(caches[kind], GFP_KERNEL | __GFP_NOFAIL);
}

void djk_give_back(enum djk_kind kind, void *memory)
{
	kmem_cache_free(caches[kind], memory);
}

void *djk_alloc_counter(void)
{
	return kmem_cache_zalloc(counters, GFP_KERNEL);
}

void djk_free_counter(void *counter)
{
	kmem_cache_free(counters, counter);
}

void *djk_alloc(size_t size)
{
	return size > PAGE_SIZE ? kvzalloc(size, GFP_KERNEL) : kzalloc(size, GFP_KERNEL);
}

void djk_free(void *memory)
{
	kvfree(memory);
}

void *djk_alloc_large(size_t size)
{
	return kvzalloc(size, GFP_KERNEL);
}

void djk_free_large(void *memory)
{
	kvfree(memory);
}
