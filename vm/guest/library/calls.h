// SPDX-License-Identifier: GPL-2.0
// Calls that nothing else in the guest makes.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

inline constexpr const char* kGetpgid = "__x64_sys_getpgid";
inline constexpr int kCalls = 1000;

inline void call_getpgid() {
    for (int i = 0; i < kCalls; ++i)
        syscall(SYS_getpgid, 0);
}
