// SPDX-License-Identifier: GPL-2.0
/* Memory. */
#include "memory.h"

#include <linux/mm.h>
#include <linux/slab.h>

#include "../hit/handler.h"
#include "../kernel.h"

/* kmalloc() has no room of these sizes. It would also mix them with what others keep. */
static struct kmem_cache *probes, *sites, *counters;

static struct kmem_cache *make_cache(const char *name, unsigned int size)
{
	return kmem_cache_create(name, size, 0, 0, NULL);
}

int djk_memory_start(void)
{
	probes = make_cache("djprobe_probe", DJK_PROBE_SIZE);
	sites = make_cache("djprobe_site", DJK_SITE_SIZE);
	counters = make_cache("djprobe_counter", DJK_COUNTER_SIZE);
	if (probes && sites && counters)
		return 0;
	djk_memory_stop();
	return -ENOMEM;
}

void djk_memory_stop(void)
{
	kmem_cache_destroy(probes);
	kmem_cache_destroy(sites);
	kmem_cache_destroy(counters);
}

static struct kmem_cache *cache_of(enum djk_kind kind)
{
	return kind == DJK_PROBES ? probes : sites;
}

void *djk_take(enum djk_kind kind)
{
	return kmem_cache_zalloc(cache_of(kind), GFP_KERNEL);
}

void *djk_insist(enum djk_kind kind)
{
	return kmem_cache_zalloc(cache_of(kind), GFP_KERNEL | __GFP_NOFAIL);
}

void djk_give_back(enum djk_kind kind, void *memory)
{
	kmem_cache_free(cache_of(kind), memory);
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
