/* SPDX-License-Identifier: GPL-2.0 */
/* Sites as callers name them, for attaching and explaining, and the requests that they come to. */
#ifndef DJPROBE_KMOD_REQUEST_H
#define DJPROBE_KMOD_REQUEST_H

#include <linux/types.h>

struct djp_request;

/* What the sites that a caller has named come to; {} is empty, kvfree(all) its end. */
struct djk_request_list {
	struct djp_request *all;
	size_t count, room;
};

/* Where the caller may not see `addresses`, they are 0. */
void djk_hide_addresses(struct djp_request *requests, size_t count, bool addresses);

/* Why, as an ioctl answers; and as another request has it. */
void djk_write_reason(const struct djp_request *request, u32 *reason, u64 detail[2]);
void djk_copy_reason(struct djp_request *to, const struct djp_request *from);

/* One way to name the site. Fills the request; the name is the caller's to free. */
int djk_read_site(struct djp_request *request, u64 symbol, u64 offset, u64 address);

/*
 * False, with the site's reason: it is named by an address, and the caller may not see `addresses`.
 * Any answer about a guessed one would tell where the kernel lies.
 */
bool djk_may_name(struct djp_request *site, bool addresses);

/* No flags, RETURN, or RETURN and SHADOW; the latter at no offset. */
bool djk_are_site_flags(u32 flags, u64 offset);

/*
 * Add the requests of one site to the list: one, or with RETURN one for each of the function's
 * returns. False: none, with the site's reason.
 */
bool djk_add_site(struct djk_request_list *list, struct djp_request *site, u32 flags);

/* What has become of its requests, once they are attached. */
void djk_tell_site(struct djp_request *site, const struct djp_request *requests, size_t count);

#endif
