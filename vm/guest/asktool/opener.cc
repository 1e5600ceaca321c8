// SPDX-License-Identifier: GPL-2.0
#include "opener.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "../probes/harness/load.h"
#include "asks.h"
#include "beside.h"
#include "whose.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kCalls = 20;
constexpr size_t kPage = 4096;
constexpr pid_t kFirst = 1;

/// The process of the first sample in the event's buffer; or a negative errno.
int process_of_a_sample(const Fd& event) {
    void* const buffer =
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
    if (buffer == MAP_FAILED) return -errno;
    call_getpgid(1);
    struct Sample {
        perf_event_header header;
        uint32_t process, thread;
    };
    const auto* const head = static_cast<const perf_event_mmap_page*>(buffer);
    const auto* const sample = reinterpret_cast<const Sample*>(static_cast<char*>(buffer) + kPage);
    const bool came =
        head->data_head >= sizeof *sample && sample->header.type == PERF_RECORD_SAMPLE;
    const int process = came ? static_cast<int>(sample->process) : -ENODATA;
    munmap(buffer, 2 * kPage);
    return process;
}

void sample_at(uint64_t offset) {
    perf_event_attr attr = with_period(offset, 1);
    attr.sample_type = PERF_SAMPLE_TID;
    const Fd event = open_as_told(attr, -1);
    say("with samples", event ? 0 : errno);
    const int process = process_of_a_sample(event);
    std::printf("a sample: %s\n", process == getpid() ? "of this process"
                                  : process < 0       ? "none"
                                                      : "of another process");
}

void say_whether_it_counts(const Fd& event, const char* when) {
    uint64_t before = 0, after = 0;
    (void)!read(event.get(), &before, sizeof before);
    call_getpgid(kCalls);
    (void)!read(event.get(), &after, sizeof after);
    std::printf("%s: count %llu\n", when, static_cast<unsigned long long>(after - before));
}

void disabled_at(uint64_t offset) {
    const Fd event = open_as_told(with_period(offset, 1), 0);
    say("of this thread", event ? 0 : errno);
    say_whether_it_counts(event, "enabled");
    prctl(PR_TASK_PERF_EVENTS_DISABLE);
    say_whether_it_counts(event, "all disabled");
    prctl(PR_TASK_PERF_EVENTS_ENABLE);
    say_whether_it_counts(event, "all enabled");
}

/// To send another user's process signals takes more than to probe.
void signalling_at(uint64_t offset) {
    perf_event_attr attr = with_period(offset, 1);
    attr.sigtrap = attr.remove_on_exec = 1;
    const Fd event = open_as_told(attr, kFirst);
    say("with signals for the first process", event ? 0 : errno);
}

void beside_probe(const Seen& seen, bool jumps, void (*ask)(uint64_t offset)) {
    const auto first = find_offset(9, 16);
    const auto other = first ? find_offset(*first + 1, *first + kJumpLength) : std::nullopt;
    if (!other) return;
    const Fd all = open_event({kGetpgid, *first, false});
    say(jumps ? "jump" : "probe", set_program(all, seen.program("observe")));
    if (jumps) wait_for_jump();
    ask(*other);
}

}  // namespace

void opener(const Seen& seen) {
    keep_to_first_cpu();
    for (const bool jumps : {false, true})
        for (const auto ask : {sample_at, disabled_at, signalling_at})
            beside_probe(seen, jumps, ask);
}

}  // namespace djprobe::vm
