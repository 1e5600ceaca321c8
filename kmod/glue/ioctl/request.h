/* SPDX-License-Identifier: GPL-2.0 */
/* Sites as callers name them, for attaching and explaining. */
#ifndef DJPROBE_KMOD_REQUEST_H
#define DJPROBE_KMOD_REQUEST_H

#include <linux/types.h>

#include "../kernel.h"

/* Set the addresses in the requests to 0, unless the caller may see `addresses`. */
void djk_hide_addresses(struct djp_request *requests, size_t count, bool addresses);

/* Copy the request's reason into the answer of an ioctl. */
void djk_write_reason(const struct djp_request *request, u32 *reason, u64 detail[2]);

/* Fill the request with the site that the caller names by a symbol or an address. The caller frees
 * request->symbol. 0, -EINVAL, or an errno of strndup_user(). */
int djk_read_site(struct djp_request *request, u64 symbol, u64 offset, u64 address);

/*
 * False, with the site's reason: an address names it, and the caller may not see `addresses`. Any
 * answer about a guessed address would tell where the kernel lies.
 */
bool djk_may_name(struct djp_request *site, bool addresses);

/* Whether the flags are none, RETURN, or RETURN and SHADOW, the last two at offset 0. */
bool djk_are_site_flags(u32 flags, u64 offset);

/* The kind of place that these flags name. */
enum djp_where djk_where(u32 flags);

#endif
