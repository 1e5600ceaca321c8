// SPDX-License-Identifier: GPL-2.0
/*
 * The table of assumptions. The module does not load where one of them does not hold: it would
 * crash the kernel later.
 */
#include "assume.h"

#include <linux/kernel.h>
#include <linux/module.h>

#include "../ioctl/abi.h"
#include "../kernel/doubt.h"
#include "../kernel/executable.h"
#include "../kernel/imports.h"
#include "../kernel.h"
#include "../kprobes/kprobe_view.h"
#include "../hit/machine.h"

/* With CFI an indirect call checks a hash before the function's first byte. Our calls by address
 * know no hash, and the analysis does not expect one. */
static int check_no_cfi(struct djk_doubt *doubt)
{
	if (!IS_ENABLED(CONFIG_CFI_CLANG) && !IS_ENABLED(CONFIG_CFI))
		return 0;
	djk_doubt(doubt, "CONFIG_CFI is on; use a kernel without it");
	return -EOPNOTSUPP;
}

static int check_no_probe_text(struct djk_doubt *doubt)
{
	const int reason = djp_start();

	if (!reason)
		return 0;
	djk_doubt(doubt, "%s; report it, the line before and this kernel's release",
		  djk_reason_name(reason));
	return reason == DJPROBE_REASON_NO_MEMORY ? -ENOMEM : -EOPNOTSUPP;
}

/* Names that are looked up later, when a program is attached. All others have been by now. */
static const char *const later[] = { "bpf_get_func_ip_kprobe", "within_error_injection_list" };

static int check_names(struct djk_doubt *doubt)
{
	const char *name;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(later); i++)
		djk_lookup(later[i]);
	name = djk_ambiguous_name();
	if (!name)
		return 0;
	djk_doubt(doubt, "this kernel has several %s; report it with this kernel's release", name);
	return -ENOTUNIQ;
}

static int prove_kprobe_view(struct djk_doubt *doubt)
{
	int error = djk_kprobe_view_start(doubt);

	if (error)
		return error;
	error = djk_kprobe_view_check(doubt);
	if (error)
		djk_kprobe_view_stop();
	return error;
}

static const struct assumption {
	enum djk_assume_when when;
	const char *name, *meaning;
	int (*check)(struct djk_doubt *doubt);
} assumptions[] = {
	{ DJK_BEFORE_ALL, "symbols",
	  "each kernel symbol that is used is there once, and is code or data as expected",
	  djk_resolve_imports },
	{ DJK_BEFORE_ALL, "no-cfi", "the kernel does not check hashes before indirect calls",
	  check_no_cfi },
	{ DJK_BEFORE_ALL, "executable-memory",
	  "code can be written by text_poke() only, and what is freed is ordinary memory again",
	  djk_check_executable },
	{ DJK_BEFORE_ALL, "mitigations",
	  "how this CPU's returns and indirect branches must be made is known",
	  djk_check_mitigations },
	{ DJK_WITH_KPROBES, "kprobe-view",
	  "the kernel's kprobes decide by the text as it is without us", prove_kprobe_view },
	{ DJK_WITH_POLICY, "no-probe-text",
	  "the code that must hold no probe is known: what runs on every int3, and on a CPU that "
	  "comes or goes",
	  check_no_probe_text },
	{ DJK_AFTER_START, "names", "each name that the module looks for has one meaning",
	  check_names },
};

int djk_assume(enum djk_assume_when when)
{
	const struct assumption *one;
	struct djk_doubt doubt = {};
	int error;

	for (one = assumptions; one < assumptions + ARRAY_SIZE(assumptions); one++) {
		error = one->when == when ? one->check(&doubt) : 0;
		if (!error)
			continue;
		pr_err("not loaded, assumption %s (%s) does not hold: %s\n", one->name,
		       one->meaning, doubt.text);
		return error;
	}
	return 0;
}
