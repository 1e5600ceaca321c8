// SPDX-License-Identifier: GPL-2.0
#include "support/running_task.h"

#include <algorithm>

#include "support/direct.h"

namespace djprobe::test {
namespace {

struct {
    u8 before[0x123];
    u32 pid, tgid;
    u8 between[0x345];
    u64 comm[2];
} __attribute__((packed)) running;
const void* current = &running;

#define FIELD(name) static_cast<u32>(offsetof(decltype(running), name))
const u32 kFields[DJPROBE_TASK_FIELDS] = {FIELD(tgid), FIELD(pid), FIELD(comm),
                                          FIELD(comm) + sizeof(u64)};
#undef FIELD

}  // namespace

void let_run(const Task& task) {
    running.tgid = static_cast<u32>(task[DJPROBE_TASK_TGID]);
    running.pid = static_cast<u32>(task[DJPROBE_TASK_PID]);
    running.comm[0] = task[DJPROBE_TASK_COMM];
    running.comm[1] = task[DJPROBE_TASK_COMM_8];
}

x86::TaskLayout task_layout() {
    x86::TaskLayout task = {static_cast<i32>(from_gs(&current))};
    std::copy(std::begin(kFields), std::end(kFields), task.fields);
    return task;
}

i64 from_gs(const void* what) {
    return reinterpret_cast<i64>(what) - reinterpret_cast<i64>(&DirectBench::per_cpu());
}

}  // namespace djprobe::test
