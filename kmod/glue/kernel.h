/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The boundary between the module's C++ (policy) and its C (kernel headers).
 *
 * C++ never includes a kernel header and C never includes arch/x86: both include this file and
 * those of contract/, which need neither, and the lists of kmod/linux_names. djk_* is the kernel as
 * the policy sees it (implemented in C; by a model in userspace tests); djp_* is the policy as the
 * kernel calls it (implemented in C++).
 *
 * Reasons travel as the numbers of uapi/djprobe_reason.h. errno stays on the C side. Addresses are
 * kernel virtual addresses, sizes are bytes, an extent is [begin, end).
 *
 * Unless a comment says otherwise, a function may sleep, needs no lock and holds none on return.
 * "In any context" includes NMIs. The lock order is: registry lock > kprobe_mutex >
 * cpus_read_lock() > jump_label_mutex > text_mutex. The hit path takes none of them.
 */
#ifndef DJPROBE_KMOD_KERNEL_H
#define DJPROBE_KMOD_KERNEL_H

#include "contract/facts.h"
#include "contract/handlers.h"
#include "contract/hit.h"
#include "contract/kprobes.h"
#include "contract/machine.h"
#include "contract/policy.h"
#include "contract/runtime.h"
#include "contract/text.h"

#endif
