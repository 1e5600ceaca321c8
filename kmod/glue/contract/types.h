/* SPDX-License-Identifier: GPL-2.0 */
/* The few types that C++ must not take from the kernel's headers. */
#ifndef DJPROBE_KMOD_CONTRACT_TYPES_H
#define DJPROBE_KMOD_CONTRACT_TYPES_H

#ifdef __cplusplus
using size_t = decltype(sizeof(0));
#else
#include <linux/stddef.h>
#include <linux/types.h>
#endif

#endif
