// SPDX-License-Identifier: GPL-2.0
// What the kernel forbids even to root.
#pragma once

namespace djprobe::loader {

/// Under lockdown `confidentiality`: then BPF programs may not read the kernel's memory, for which
/// their helpers are missing, and nobody may probe it. False where the state cannot be read.
bool is_confidential(const char* state = "/sys/kernel/security/lockdown");

}  // namespace djprobe::loader
