// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs djprobe/, all 0600:
 *   list          a line per probe, as in the kernel's kprobes/list, with our own fields behind it
 *   enabled       0: no probe is in the text; each keeps its own state besides
 *   optimization  0: every site is at int3 and stays there
 */
#include "debugfs.h"

#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "../kernel.h"
#include "switch.h"

static struct dentry *folder;

static const char *mechanism_name(unsigned int mechanism)
{
	static const char *const names[] = {
		[DJPROBE_MECHANISM_NONE] = "none",
		[DJPROBE_MECHANISM_INT3] = "int3",
		[DJPROBE_MECHANISM_JUMP] = "jump",
	};

	return mechanism < ARRAY_SIZE(names) ? names[mechanism] : "?";
}

/* Show the sum, and the causes that are not 0. */
static void show_missed(struct seq_file *out, const unsigned long *missed)
{
	static const char *const names[DJPROBE_MISS_KINDS] = DJPROBE_MISS_NAMES;
	unsigned long sum = 0;
	int i;

	for (i = 0; i < DJPROBE_MISS_KINDS; i++)
		sum += missed[i];
	seq_printf(out, " missed=%lu", sum);
	for (i = 0; i < DJPROBE_MISS_KINDS; i++)
		if (missed[i])
			seq_printf(out, " %s=%lu", names[i], missed[i]);
}

struct listing {
	struct seq_file *out;
	bool show_addresses;
	char name[KSYM_NAME_LEN], module[MODULE_NAME_LEN];
};

/* False: the line does not fit. seq_file then reads the list again with more room. */
static bool show_probe(void *context, const struct djp_status *status)
{
	struct listing *listing = context;
	unsigned long offset = 0;

	/* Where a module was, another one may be by now. */
	strscpy(listing->name, "?", sizeof(listing->name));
	*listing->module = 0;
	if (status->state != DJPROBE_STATE_GONE)
		djk_symbol_name(status->address, listing->name, listing->module, &offset);
	seq_printf(listing->out, "%016lx  %c  %s+0x%lx  %s %s%s%s%s%s%s",
		   listing->show_addresses ? status->address : 0, status->at_return ? 'r' : 'k',
		   listing->name, offset, *listing->module ? listing->module : " ",
		   status->state == DJPROBE_STATE_GONE ? "[GONE]" : "",
		   status->state == DJPROBE_STATE_DISARMED ? "[DISABLED]" : "",
		   status->state == DJPROBE_STATE_OPTIMIZED ? "[OPTIMIZED]" : "",
		   status->shadow ? "[SHADOW]" : "", status->counts ? "[COUNT]" : "",
		   status->filtered ? "[FILTERED]" : "");
	seq_printf(listing->out, " mechanism=%s reason=%s hits=%lu",
		   mechanism_name(status->mechanism), djk_reason_name(status->reason),
		   status->hits);
	show_missed(listing->out, status->missed);
	seq_putc(listing->out, '\n');
	return !seq_has_overflowed(listing->out);
}

static int list_show(struct seq_file *out, void *unused)
{
	struct listing *listing = kzalloc(sizeof(*listing), GFP_KERNEL);

	if (!listing)
		return -ENOMEM;
	listing->out = out;
	listing->show_addresses = djk_may_see_addresses(out->file);
	djp_list(show_probe, listing);
	kfree(listing);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(list);

static int enabled_get(void *unused, u64 *value)
{
	*value = djp_is_enabled();
	return 0;
}

static int enabled_set(void *unused, u64 value)
{
	return value > 1 ? -EINVAL : djk_set_enabled(value);
}
DEFINE_DEBUGFS_ATTRIBUTE(enabled_fops, enabled_get, enabled_set, "%llu\n");

static int optimization_get(void *unused, u64 *value)
{
	*value = djp_is_optimization_on();
	return 0;
}

static int optimization_set(void *unused, u64 value)
{
	return value > 1 ? -EINVAL : djk_set_optimization(value);
}
DEFINE_DEBUGFS_ATTRIBUTE(optimization_fops, optimization_get, optimization_set, "%llu\n");

void djk_debugfs_start(void)
{
	folder = debugfs_create_dir("djprobe", NULL);
	debugfs_create_file("list", 0600, folder, NULL, &list_fops);
	debugfs_create_file("enabled", 0600, folder, NULL, &enabled_fops);
	debugfs_create_file("optimization", 0600, folder, NULL, &optimization_fops);
}

void djk_debugfs_stop(void)
{
	debugfs_remove(folder);
}
