/* SPDX-License-Identifier: GPL-2.0 */
/* As fs/compat_binfmt_elf.c does with fs/binfmt_elf.c. */
#define SECOND
#include "twins_first.c"
