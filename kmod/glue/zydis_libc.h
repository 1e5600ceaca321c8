/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Without a libc Zydis clears its structs byte by byte, which takes most of the
 * time of a decode. The kernel has memset and memcpy.
 */
#include <Zycore/LibC.h>

#undef ZYAN_MEMSET
#define ZYAN_MEMSET __builtin_memset
#undef ZYAN_MEMCPY
#define ZYAN_MEMCPY __builtin_memcpy
