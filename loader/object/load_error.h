// SPDX-License-Identifier: GPL-2.0
// Why the kernel has refused a program that is part of probeload.
#pragma once

#include "object/libbpf_log.h"

namespace djprobe::loader {

/// `error`: as of libbpf, positive. Throws Error: kNoPermission, kRejected.
[[noreturn]] void fail_load(const LibbpfLog& log, int error);

}  // namespace djprobe::loader
