/* SPDX-License-Identifier: GPL-2.0 */
/* Kbuild includes it before all else in C: our lines in the kernel log begin with our name. */
#define pr_fmt(fmt) "djprobe: " fmt
