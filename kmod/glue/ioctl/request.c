// SPDX-License-Identifier: GPL-2.0
/* The sites that a caller names become requests. */
#include "request.h"

#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "../kernel.h"

/* Room for "MODULE:NAME" with its NUL. */
#define SYMBOL_ROOM (MODULE_NAME_LEN + KSYM_NAME_LEN)

void djk_hide_addresses(struct djp_request *requests, size_t count, bool addresses)
{
	size_t i;

	if (addresses)
		return;
	for (i = 0; i < count; i++) {
		requests[i].address = 0;
		requests[i].detail[0] = requests[i].detail[1] = 0;
	}
}

void djk_write_reason(const struct djp_request *request, u32 *reason, u64 detail[2])
{
	*reason = request->reason;
	detail[0] = request->detail[0];
	detail[1] = request->detail[1];
}

int djk_read_site(struct djp_request *request, u64 symbol, u64 offset, u64 address)
{
	char *name;

	if (symbol ? address : offset)
		return -EINVAL;
	request->offset = offset;
	request->address = address;
	if (!symbol)
		return 0;
	name = strndup_user(u64_to_user_ptr(symbol), SYMBOL_ROOM);
	if (IS_ERR(name))
		return PTR_ERR(name);
	request->symbol = name;
	return 0;
}

bool djk_may_name(struct djp_request *site, bool addresses)
{
	if (site->symbol || addresses)
		return true;
	site->reason = DJPROBE_REASON_ADDRESSES_HIDDEN;
	return false;
}

bool djk_are_site_flags(u32 flags, u64 offset)
{
	const u32 returns = DJPROBE_ATTACH_RETURN, shadow = returns | DJPROBE_ATTACH_SHADOW;

	return !flags || ((flags == returns || flags == shadow) && !offset);
}

enum djp_where djk_where(u32 flags)
{
	if (!(flags & DJPROBE_ATTACH_RETURN))
		return DJP_SITE;
	return flags & DJPROBE_ATTACH_SHADOW ? DJP_SHADOW_ENTRY : DJP_RETURNS;
}
