// SPDX-License-Identifier: GPL-2.0
/*
 * Makes this kernel one of those on which djprobe must not be loaded, or must not trust what others
 * have: functions of the kernel are replaced as far as djprobe can see.
 */
#include <asm/pgtable_types.h>
#include <asm/sync_core.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

static char *twice = "";
module_param(twice, charp, 0400);
MODULE_PARM_DESC(twice, "a symbol that this kernel has twice");

static char *data = "";
module_param(data, charp, 0400);
MODULE_PARM_DESC(data, "a function whose name some data have instead");

static bool bare;
module_param(bare, bool, 0400);
MODULE_PARM_DESC(bare, "the JIT's allocator leaves it to its callers what is done on freeing");

static bool readonly;
module_param(readonly, bool, 0400);
MODULE_PARM_DESC(readonly, "its memory is read-only code from the start");

static bool keeps;
module_param(keeps, bool, 0400);
MODULE_PARM_DESC(keeps, "what it frees stays as it is");

static bool break_ftrace;
module_param(break_ftrace, bool, 0400);
MODULE_PARM_DESC(break_ftrace,
		 "and nothing else: ftrace stops for good, as when it finds a fault of its own");

static char *bypass = "";
module_param(bypass, charp, 0400);
MODULE_PARM_DESC(bypass,
		 "and nothing else: a function on which ftrace leads nobody any more, though "
		 "it has agreed to; of those that run under kprobe_mutex");

static char *release = "";
module_param(release, charp, 0400);
MODULE_PARM_DESC(release, "what it calls itself");
static char true_release[__NEW_UTS_LEN + 1];

static unsigned long (*lookup_name)(const char *name);
static struct vm_struct *(*find_area)(const void *address);
static int (*make_readonly)(unsigned long address, int pages);
static int (*make_executable)(unsigned long address, int pages);

static struct module *(*module_of_text)(unsigned long address);
static void *(*allocate_area)(unsigned long size, unsigned long align, unsigned long start,
			      unsigned long end, gfp_t gfp, pgprot_t protection,
			      unsigned long flags, int node, const void *caller);

/* Who runs the original from within its replacement. */
static struct task_struct *inside;

/* Whether the kernel keeps executable memory in large pages, and hands out parts of those. */
static bool cached;

/* Pages that were freed, held to be looked at, with the address that each had. */
static struct {
	struct page *page;
	void *address;
} freed[512];
static size_t freed_count;

static void *allocate_original(unsigned long size)
{
	void *(*const original)(unsigned long) = (void *)lookup_name("bpf_jit_alloc_exec");
	void *memory;

	inside = current;
	memory = original(size);
	inside = NULL;
	return memory;
}

static void free_original(void *memory)
{
	void (*const original)(void *) = (void *)lookup_name("bpf_jit_free_exec");

	inside = current;
	original(memory);
	inside = NULL;
}

static void *replaced_alloc(unsigned long size);

/* An area of its own, as a kernel without a cache has for each. */
static void *allocate_apart(unsigned long size)
{
	return allocate_area(PAGE_ALIGN(size), PAGE_SIZE, MODULES_VADDR, MODULES_END, GFP_KERNEL,
			     PAGE_KERNEL, VM_FLUSH_RESET_PERMS, NUMA_NO_NODE, replaced_alloc);
}

/* Whether the memory is an area of its own, and not the cache's. */
static bool is_apart(const struct vm_struct *area)
{
	return area && (!cached || area->caller == replaced_alloc);
}

static bool is_of_djprobe(const void *code)
{
	const struct module *const module = module_of_text((unsigned long)code);

	return module && !strcmp(module->name, "djprobe");
}

static void *replaced_alloc(unsigned long size)
{
	const void *const caller = __builtin_return_address(0);
	struct vm_struct *area;
	void *memory;

	/* Who relies on the cache gets what is in it. */
	if (cached && (bare || readonly || keeps) && is_of_djprobe(caller))
		memory = allocate_apart(size);
	else
		memory = allocate_original(size);
	if (!memory)
		return NULL;
	area = find_area(memory);
	if (!is_apart(area))
		return memory;
	if (bare)
		area->flags &= ~VM_FLUSH_RESET_PERMS;
	if (readonly) {
		area->flags |= VM_FLUSH_RESET_PERMS;
		memset(memory, 0xcc, PAGE_ALIGN(size));
		make_readonly((unsigned long)memory, PAGE_ALIGN(size) / PAGE_SIZE);
		make_executable((unsigned long)memory, PAGE_ALIGN(size) / PAGE_SIZE);
	}
	return memory;
}

static void hold(struct page *page, void *address)
{
	if (freed_count == ARRAY_SIZE(freed))
		return;
	get_page(page);
	freed[freed_count].page = page;
	freed[freed_count++].address = address;
}

static void replaced_free(void *memory)
{
	struct vm_struct *const area = find_area(memory);
	unsigned int i;

	if (!is_apart(area))
		hold(vmalloc_to_page(memory), memory);
	for (i = 0; is_apart(area) && i < area->nr_pages; i++)
		hold(area->pages[i], memory + i * PAGE_SIZE);
	if (is_apart(area) && keeps)
		area->flags &= ~VM_FLUSH_RESET_PERMS;
	free_original(memory);
}

typedef int (*match_visit)(void *, unsigned long);

static int replaced_match(match_visit visit, const char *name, void *context)
{
	int (*const original)(match_visit, const char *, void *) =
		(void *)lookup_name("kallsyms_on_each_match_symbol");
	int result;

	if (!strcmp(name, data))
		return visit(context, (unsigned long)&freed_count);
	inside = current;
	result = original(visit, name, context);
	inside = NULL;
	return !result && !strcmp(name, twice) ? visit(context, lookup_name("vfs_read")) : result;
}

static int lead_to_replacement(struct kprobe *probe, struct pt_regs *regs);

static struct replacement {
	struct kprobe probe;
	void *function;
} replacements[] = {
	{ { .symbol_name = "bpf_jit_alloc_exec", .pre_handler = lead_to_replacement },
	  replaced_alloc },
	{ { .symbol_name = "bpf_jit_free_exec", .pre_handler = lead_to_replacement },
	  replaced_free },
	{ { .symbol_name = "kallsyms_on_each_match_symbol", .pre_handler = lead_to_replacement },
	  replaced_match },
};

static int lead_to_replacement(struct kprobe *probe, struct pt_regs *regs)
{
	if (inside == current)
		return 0;
	regs->ip = (unsigned long)container_of(probe, struct replacement, probe)->function;
	return 1;
}

static const pte_t *entry_of(const void *address)
{
	unsigned int level;
	const pte_t *const entry = lookup_address((unsigned long)address, &level);

	return entry && (pte_flags(*entry) & _PAGE_PRESENT) ? entry : NULL;
}

/* A cache goes on having what was freed as code, where it was. */
static bool is_in_cache(struct page *page, void *address)
{
	const pte_t *const entry = entry_of(address);

	return cached && entry && !(pte_flags(*entry) & (_PAGE_RW | _PAGE_NX)) &&
	       vmalloc_to_page(address) == page;
}

/* How many of the freed pages no task could write to, though no cache has them. Those are not given
 * back: a new owner of one would crash. */
static int let_go(void)
{
	int stuck = 0;

	while (freed_count) {
		struct page *const page = freed[--freed_count].page;
		const pte_t *const entry = entry_of(page_address(page));

		if ((entry && (pte_flags(*entry) & _PAGE_RW)) ||
		    is_in_cache(page, freed[freed_count].address))
			put_page(page);
		else
			stuck++;
	}
	return stuck;
}

static int show_stuck(char *buffer, const struct kernel_param *parameter)
{
	const size_t count = freed_count;

	return sysfs_emit(buffer, "%d of %zu\n", let_go(), count);
}

static const struct kernel_param_ops stuck_ops = { .get = show_stuck };
module_param_cb(stuck, &stuck_ops, NULL, 0400);

static unsigned long find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name",
				.flags = KPROBE_FLAG_DISABLED };

	if (register_kprobe(&probe))
		return 0;
	unregister_kprobe(&probe);
	return (unsigned long)probe.addr;
}

/* Whether a page of executable memory is part of something larger. */
static int look_for_cache(void)
{
	void *const memory = allocate_original(PAGE_SIZE);
	const struct vm_struct *area;

	if (!memory)
		return -ENOMEM;
	area = find_area(memory);
	cached = area->addr != memory || get_vm_area_size(area) != PAGE_SIZE;
	free_original(memory);
	return 0;
}

/* The call by which ftrace led there, and where it was. */
static u8 leading_call[MCOUNT_INSN_SIZE];
static void *leading_place;

static void synchronize_core(void *unused)
{
	sync_core();
}

static void write_call(const u8 *bytes)
{
	struct mutex *const kprobes = (struct mutex *)lookup_name("kprobe_mutex");
	struct mutex *const text = (struct mutex *)lookup_name("text_mutex");
	void *(*const poke)(void *, const void *, size_t) = (void *)lookup_name("text_poke");

	mutex_lock(kprobes);
	mutex_lock(text);
	poke(leading_place, bytes, MCOUNT_INSN_SIZE);
	mutex_unlock(text);
	on_each_cpu(synchronize_core, NULL, 1);
	mutex_unlock(kprobes);
}

static int lead_past(void)
{
	static const u8 nop[MCOUNT_INSN_SIZE] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	unsigned long (*const location)(unsigned long) = (void *)lookup_name("ftrace_location");

	leading_place = (void *)location(lookup_name(bypass));
	if (!leading_place)
		return -ENOENT;
	memcpy(leading_call, leading_place, sizeof(leading_call));
	write_call(nop);
	return 0;
}

static int __init doubt_init(void)
{
	size_t i;
	int error;

	lookup_name = (void *)find_lookup();
	if (!lookup_name)
		return -ENOENT;
	if (break_ftrace) {
		((void (*)(void))lookup_name("ftrace_kill"))();
		return 0;
	}
	if (*bypass)
		return lead_past();
	find_area = (void *)lookup_name("find_vm_area");
	make_readonly = (void *)lookup_name("set_memory_ro");
	make_executable = (void *)lookup_name("set_memory_x");
	module_of_text = (void *)lookup_name("__module_text_address");
	allocate_area = (void *)lookup_name("__vmalloc_node_range_noprof");
	if (!allocate_area)
		allocate_area = (void *)lookup_name("__vmalloc_node_range");
	error = look_for_cache();
	if (error)
		return error;
	strscpy(true_release, init_utsname()->release, sizeof(true_release));
	if (*release)
		strscpy(init_utsname()->release, release, sizeof(true_release));
	for (i = 0; i < ARRAY_SIZE(replacements) && !error; i++)
		error = register_kprobe(&replacements[i].probe);
	if (error) {
		strscpy(init_utsname()->release, true_release, sizeof(true_release));
		for (i--; i > 0; i--)
			unregister_kprobe(&replacements[i - 1].probe);
	}
	return error;
}

static void __exit doubt_exit(void)
{
	size_t i;

	if (leading_place)
		write_call(leading_call);
	if (break_ftrace || leading_place)
		return;
	strscpy(init_utsname()->release, true_release, sizeof(true_release));
	for (i = 0; i < ARRAY_SIZE(replacements); i++)
		unregister_kprobe(&replacements[i].probe);
	let_go();
}

module_init(doubt_init);
module_exit(doubt_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A kernel that djprobe does not know");
