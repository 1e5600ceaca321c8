// SPDX-License-Identifier: GPL-2.0
// What the kernel forbids even to root.
#pragma once

namespace djprobe::loader {

/// Whether the kernel is under lockdown `confidentiality`. Then BPF programs lack the helpers that
/// read the kernel's memory, and no process may probe the kernel. False where the state cannot be
/// read.
bool is_confidential(const char* state = "/sys/kernel/security/lockdown");

}  // namespace djprobe::loader
