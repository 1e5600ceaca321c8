/* SPDX-License-Identifier: GPL-2.0 */
/* Sites as callers name them, for attaching and explaining. */
#ifndef DJPROBE_KMOD_REQUEST_H
#define DJPROBE_KMOD_REQUEST_H

#include <linux/types.h>

#include "../kernel.h"

/* Where the caller may not see `addresses`, they are 0. */
void djk_hide_addresses(struct djp_request *requests, size_t count, bool addresses);

/* Why, as an ioctl answers. */
void djk_write_reason(const struct djp_request *request, u32 *reason, u64 detail[2]);

/* One way to name the site. Fills the request; the name is the caller's to free. */
int djk_read_site(struct djp_request *request, u64 symbol, u64 offset, u64 address);

/*
 * False, with the site's reason: it is named by an address, and the caller may not see `addresses`.
 * Any answer about a guessed one would tell where the kernel lies.
 */
bool djk_may_name(struct djp_request *site, bool addresses);

/* No flags, RETURN, or RETURN and SHADOW; the latter at no offset. */
bool djk_are_site_flags(u32 flags, u64 offset);

/* What a site with these flags is about. */
enum djp_where djk_where(u32 flags);

#endif
