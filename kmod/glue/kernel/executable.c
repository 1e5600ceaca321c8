// SPDX-License-Identifier: GPL-2.0
/* Executable memory, from the allocator of the kernel's JIT. */
#include "executable.h"

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/pgtable_types.h>

#include "doubt.h"
#include "imports.h"
#include "../kernel.h"
#include "ksym.h"

/*
 * As set_vm_flush_reset_perms() does. A page that becomes read-only does so under its direct
 * address, too. Without this flag the kernel frees it as it is, and the next owner of the page
 * oopses. The kernel's JIT sets the flag as well; the allocator of some versions has set it
 * already. An area that is not all ours belongs to a cache of executable memory, which keeps its
 * pages.
 */
static void reset_when_freed(const void *memory, size_t size)
{
	struct vm_struct *const area = (void *)djk_call1(find_vm_area, memory);

	if (area && area->addr == memory && get_vm_area_size(area) == PAGE_ALIGN(size))
		area->flags |= VM_FLUSH_RESET_PERMS;
}

/* Some kernels hand out memory that is read-only from the start. */
static bool fill(void *memory, size_t size)
{
	struct mutex *const text_mutex = (struct mutex *)djk_imports.text_mutex;
	u8 *const page = kmalloc(PAGE_SIZE, GFP_KERNEL);
	size_t at;

	if (!page)
		return false;
	memset(page, 0xcc, PAGE_SIZE);
	mutex_lock(text_mutex);
	for (at = 0; at < size; at += PAGE_SIZE)
		djk_text_write((unsigned long)memory + at, page, PAGE_SIZE);
	mutex_unlock(text_mutex);
	kfree(page);
	return true;
}

/* The flags of a kernel address' page, 0 when none is mapped there. */
static unsigned long page_flags(const void *address)
{
	unsigned int level;
	const pte_t *const entry = lookup_address((unsigned long)address, &level);

	return entry && (pte_flags(*entry) & _PAGE_PRESENT) ? pte_flags(*entry) : 0;
}

static bool may_only_be_run(const void *memory)
{
	const unsigned long flags = page_flags(memory);

	return flags && !(flags & (_PAGE_RW | _PAGE_NX));
}

/* Read-only before executable: never both writable and executable. What a cache of executable
 * memory has handed out is both already, and may be part of a large page that must stay one. */
static bool make_code(void *memory, size_t size)
{
	const int pages = size / PAGE_SIZE;

	if (may_only_be_run(memory))
		return true;
	return !djk_int(djk_call2(set_memory_ro, memory, pages)) &&
	       !djk_int(djk_call2(set_memory_x, memory, pages));
}

void *djk_exec_alloc(size_t size)
{
	/* The JIT's allocator keeps its name across kernels and serves the +-2 GiB that we need. */
	void *memory = (void *)djk_call1(bpf_jit_alloc_exec, size);

	if (!memory)
		return NULL;
	reset_when_freed(memory, size);
	if (!fill(memory, size) || !make_code(memory, size)) {
		djk_call1(bpf_jit_free_exec, memory);
		return NULL;
	}
	djk_ksym_add(memory, size);
	return memory;
}

static void free_exec(void *memory)
{
	djk_call1(bpf_jit_free_exec, memory);
}

void djk_exec_free(void *memory, size_t size)
{
	if (!djk_ksym_del(memory, free_exec))
		free_exec(memory);
}

static bool is_code(const void *memory)
{
	return may_only_be_run(memory) && !memchr_inv(memory, 0xcc, PAGE_SIZE);
}

/* Whether the freed page is an ordinary page of the kernel again, or a cache keeps it as code. */
static bool is_given_back(const void *memory, const struct page *page)
{
	return (page_flags(page_address(page)) & _PAGE_RW) ||
	       (page_flags(memory) && vmalloc_to_page(memory) == page);
}

int djk_check_executable(struct djk_doubt *doubt)
{
	void *const memory = djk_exec_alloc(PAGE_SIZE);
	struct page *page;
	bool code, given_back;

	if (!memory) {
		djk_doubt(doubt, "none can be allocated; free some memory, or report it with this "
				 "kernel's release");
		return -ENOMEM;
	}
	code = is_code(memory);
	page = vmalloc_to_page(memory);
	/* Hold the page, so that it has no new owner when it is looked at after it was freed. */
	get_page(page);
	djk_exec_free(memory, PAGE_SIZE);
	given_back = is_given_back(memory, page);
	/* A page that is still read-only must get no new owner: keep it. */
	if (given_back)
		put_page(page);
	if (code && given_back)
		return 0;
	djk_doubt(doubt, "pages of bpf_jit_alloc_exec() %s; report it with this kernel's release",
		  code ? "stay read-only when they are freed" : "do not become read-only code");
	return -EOPNOTSUPP;
}
