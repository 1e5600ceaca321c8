// SPDX-License-Identifier: GPL-2.0
/* From the sites that a caller names to requests, and back to what has become of them. */
#include "request.h"

#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "../kernel.h"

/* "MODULE:NAME" with its end. */
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

void djk_copy_reason(struct djp_request *to, const struct djp_request *from)
{
	to->reason = from->reason;
	to->detail[0] = from->detail[0];
	to->detail[1] = from->detail[1];
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

#define MOST_REQUESTS (16 * DJPROBE_MANY_MAX)

static bool add_request(struct djk_request_list *list, const struct djp_request *request)
{
	/* A list of sites is bounded, what returns they have is not. */
	if (list->count == MOST_REQUESTS)
		return false;
	if (list->count == list->room) {
		const size_t room = list->room ? 2 * list->room : 16;
		struct djp_request *all = kvmalloc_array(room, sizeof(*all), GFP_KERNEL_ACCOUNT);

		if (!all)
			return false;
		if (list->count)
			memcpy(all, list->all, list->count * sizeof(*all));
		kvfree(list->all);
		list->all = all;
		list->room = room;
	}
	list->all[list->count++] = *request;
	return true;
}

struct returns {
	struct djk_request_list *list;
	struct djp_request *function;
};

static void add_returns(void *context, const unsigned long *addresses, size_t count)
{
	const struct returns *returns = context;
	struct djp_request request = *returns->function;
	const size_t before = returns->list->count;
	size_t i;

	request.symbol = NULL;
	request.offset = 0;
	for (i = 0; i < count; i++) {
		request.address = addresses[i];
		if (!add_request(returns->list, &request)) {
			returns->list->count = before;
			return;
		}
	}
}

bool djk_add_site(struct djk_request_list *list, struct djp_request *site, u32 flags)
{
	struct djp_request request = *site;
	struct returns returns = { list, &request };
	const size_t before = list->count;

	request.shadow = flags & DJPROBE_ATTACH_SHADOW;
	if (!(flags & DJPROBE_ATTACH_RETURN))
		add_request(list, &request);
	else if (!request.shadow)
		djp_find_returns(&request, add_returns, &returns);
	else if (djp_find_shadow_entry(&request))
		add_request(list, &request);
	if (list->count == before && !request.reason)
		request.reason = DJPROBE_REASON_NO_MEMORY;
	/* The name is still the caller's to free. */
	request.symbol = site->symbol;
	*site = request;
	return list->count > before;
}

void djk_tell_site(struct djp_request *site, const struct djp_request *requests, size_t count)
{
	const bool returns = site->entry && !site->shadow;
	size_t i;

	site->address = returns ? site->entry : requests->address;
	/* Why not all of them get a jump. */
	for (i = 0; i < count && !site->reason; i++)
		djk_copy_reason(site, &requests[i]);
}
