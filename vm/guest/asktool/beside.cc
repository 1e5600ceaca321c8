// SPDX-License-Identifier: GPL-2.0
#include "beside.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "../probes/harness/load.h"
#include "asks.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kCookie = 9;
constexpr const char* kPin = "/sys/fs/bpf/asktool";

/// A program that counts beside another event.
Fd open_with_period(uint64_t offset) {
    return open_as_told(with_period(offset, 2), -1);
}

uint64_t no_instruction_behind(uint64_t offset) {
    do
        ++offset;
    while (open_event({kGetpgid, offset, false}));
    return offset;
}

/// The errno of all calls, so many, while djprobe's jump comes, and goes where one asks for its
/// place.
int error_while_jump_comes(uint64_t offset, int calls) {
    int error = 0;
    for (int i = 0; i < calls; ++i) {
        const int now = open_with_period(offset) ? 0 : errno;
        if (i > 0 && now != error) {
            std::printf("first %s, then ", error ? strerrorname_np(error) : "ok");
            return now;
        }
        error = now;
        usleep(5000);
    }
    return error;
}

Fd open_member(const Fd& leader, int cpu = 0, uint64_t sample_type = 0) {
    perf_event_attr attr = {};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_type = sample_type;
    return Fd(static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, leader.get(),
                                       uint64_t{PERF_FLAG_FD_CLOEXEC})));
}

Fd open_kprobe_member(const Fd& leader, const char* function) {
    perf_event_attr attr = {};
    attr.size = sizeof attr;
    attr.type = kprobe_type();
    attr.config1 = reinterpret_cast<uintptr_t>(function);
    return Fd(static_cast<int>(
        syscall(SYS_perf_event_open, &attr, -1, 0, leader.get(), uint64_t{PERF_FLAG_FD_CLOEXEC})));
}

/// kprobe.multi with these flags, of so many functions.
Fd link_oddly(int program, uint32_t flags, uint32_t count) {
    const char* const function = kGetpgid;
    bpf_attr attr = {};
    attr.link_create.prog_fd = static_cast<uint32_t>(program);
    attr.link_create.attach_type = BPF_TRACE_KPROBE_MULTI;
    attr.link_create.flags = flags;
    attr.link_create.kprobe_multi.cnt = count;
    attr.link_create.kprobe_multi.syms = reinterpret_cast<uintptr_t>(&function);
    return Fd(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr)));
}

int pin(const Fd& link) {
    bpf_attr attr = {};
    attr.pathname = reinterpret_cast<uintptr_t>(kPin);
    attr.bpf_fd = static_cast<uint32_t>(link.get());
    return -bpf_call(BPF_OBJ_PIN, &attr, sizeof attr);
}

void beside_at(const Seen& seen, uint64_t offset) {
    const int program = seen.program("observe");
    Fd first = open_event({kGetpgid, offset, false});
    say("first program", set_program(first, program));
    Fd link;
    {
        const Fd event = open_event({kGetpgid, offset, false});
        link = link_event(event, program, kCookie);
        say("link beside it", link ? 0 : errno);
    }
    Fd other = open_with_period(offset);
    say("one with a period", other ? 0 : errno);
    say("its program", set_program(other, program));
    seen.count("two", 0);
    seen.count("the link", kCookie);
    say("program again", set_program(first, program));
    say("no program again", set_program(first, 0));
    other.reset();
    seen.count("one", 0);
    first.reset();
    seen.count("none", 0);
    // A probe that has outlived its descriptor would count beside this one.
    other = open_with_period(offset);
    say("another with a period", other ? 0 : errno);
    say("its program", set_program(other, program));
    seen.count("this alone", 0);
    other.reset();
    seen.count("none again", 0);
    link.reset();
    seen.count("no link", kCookie);
}

void group_at(const Seen& seen, uint64_t offset) {
    const Fd leader = open_event({kGetpgid, offset, false});
    say("leader's program", set_program(leader, seen.program("observe")));
    Fd member = open_member(leader);
    say("member", member ? 0 : errno);
    seen.count("leader", 0);
    member.reset();
    seen.count("leader alone", 0);
}

void pinned_at(const Seen& seen, uint64_t offset) {
    Fd link = link_event(open_event({kGetpgid, offset, false}), seen.program("observe"), kCookie);
    say("link", link ? 0 : errno);
    say("pin", pin(link));
    say("pin twice", pin(link));
    link.reset();
    seen.count("pinned", kCookie);
    say("unpin", unlink(kPin) ? errno : 0);
    usleep(100'000);  // the kernel frees a link of a file system later
    seen.count("unpinned", kCookie);
}

/// What has a link takes no other program, wherever that link is.
void linked_twice_at(const Seen& seen, uint64_t offset) {
    const int program = seen.program("observe");
    const auto refuses = [&](const char* what, const Fd& event) {
        say(what, link_event(event, program, kCookie) ? 0 : errno);
        say("its program", set_program(event, program));
    };
    const Fd event = open_event({kGetpgid, offset, false});
    Fd link = link_event(event, program, kCookie);
    say("pin", pin(link));
    refuses("second link, one is pinned", event);
    say("unpin", unlink(kPin) ? errno : 0);
    refuses("second link, one was pinned", event);
    link.reset();
    usleep(100'000);
    say("link again", link_event(event, program, kCookie) ? 0 : errno);
    const Fd leader = open_event({kGetpgid, offset, false});
    Fd of_leader = link_event(leader, program, kCookie);
    const Fd member = open_member(leader);
    say("member of a linked one", member ? 0 : errno);
    refuses("second link of a leader", leader);
    seen.count("linked leader", kCookie);
    of_leader.reset();
    seen.count("no link", kCookie);
}

/// Two probes that have one jump under djprobe, when an event of the kernel's alone comes to
/// another instruction of its bytes.
void shared_at(const Seen& seen, uint64_t offset, uint64_t other) {
    const int program = seen.program("observe");
    const Fd first = open_event({kGetpgid, offset, false});
    Fd link;
    {
        const Fd event = open_event({kGetpgid, offset, false});
        link = link_event(event, program, kCookie);
    }
    say("shared", set_program(first, program));
    wait_for_jump();
    const Fd within = open_with_period(other);
    say("within the bytes of both", within ? 0 : errno);
    say("its program", set_program(within, program));
    seen.count("two of three", 0);
    seen.count("the link of three", kCookie);
}

}  // namespace

perf_event_attr with_period(uint64_t offset, uint64_t period) {
    perf_event_attr attr = {};
    attr.size = sizeof attr;
    attr.type = kprobe_type();
    attr.config1 = reinterpret_cast<uintptr_t>(kGetpgid);
    attr.config2 = offset;
    attr.sample_period = period;
    return attr;
}

Fd open_as_told(perf_event_attr attr, pid_t task) {
    return Fd(static_cast<int>(
        syscall(SYS_perf_event_open, &attr, task, 0, -1, uint64_t{PERF_FLAG_FD_CLOEXEC})));
}

void wait_for_jump() {
    usleep(1'500'000);
}

std::optional<uint64_t> find_offset(uint64_t offset, uint64_t end) {
    for (; offset < end; ++offset)
        if (open_event({kGetpgid, offset, false})) return offset;
    return std::nullopt;
}

int number_32(const Fd& event) {
    constexpr int kIoctl = 54;
    constexpr unsigned kId = _IOC(_IOC_READ, '$', 7, 4);
    void* const low =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED) return errno;
    long result = kIoctl;
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(event.get()), "c"(kId), "d"(low)
                 : "r8", "r9", "r10", "r11", "memory");
    munmap(low, 4096);
    return static_cast<int>(-result);
}

void count_of(const Fd& event) {
    uint64_t count = 1;
    const ssize_t got = read(event.get(), &count, sizeof count);
    std::printf("read: %zd, count %llu\n", got, static_cast<unsigned long long>(count));
    say("read too little", read(event.get(), &count, 4) < 0 ? errno : 0);
}

void wait_for(const Fd& event) {
    const Fd epoll(epoll_create1(0));
    epoll_event wanted = {};
    wanted.events = EPOLLIN;
    say("epoll", epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &wanted) ? errno : 0);
    epoll_event got = {};
    const int ready = epoll_wait(epoll.get(), &got, 1, 0);
    std::printf("epoll: %d, %x\n", ready, got.events);
}

void beside(const Seen& seen) {
    const auto inside = find_offset(9, 16);
    for (const uint64_t offset : {uint64_t{0}, inside.value_or(0)}) {
        beside_at(seen, offset);
        group_at(seen, offset);
        pinned_at(seen, offset);
    }
    if (!inside) return;
    const auto other = find_offset(*inside + 1, *inside + kJumpLength);
    if (other) shared_at(seen, *inside, *other);
}

void linked_twice(const Seen& seen) {
    linked_twice_at(seen, 0);
    if (const auto inside = find_offset(9, 16)) linked_twice_at(seen, *inside);
}

void forbidden(const Seen& seen) {
    const Fd leader = open_event({kGetpgid, 0, false});
    say("leader's program", set_program(leader, seen.program("observe")));
    say("member on another CPU", open_member(leader, 1) ? 0 : errno);
    say("member with odd samples", open_member(leader, 0, uint64_t{1} << 40) ? 0 : errno);
    say("member nowhere", open_kprobe_member(leader, "no_such_function") ? 0 : errno);
    say("kprobe member", open_kprobe_member(leader, "vfs_read") ? 0 : errno);
    say("member", open_member(leader) ? 0 : errno);
    say("odd link without a program", link_oddly(-1, 8, 1) ? 0 : errno);
    say("odd link", link_oddly(seen.program("observe"), 8, 1) ? 0 : errno);
    say("link of too many", link_oddly(seen.program("observe"), 0, 1u << 22) ? 0 : errno);
}

void untraced(const Seen& seen) {
    const Fd event = open_event({"__do_sys_getpriority", 0, false});
    say("untraced", event ? 0 : errno);
    say("no program", set_program(event, 1));
    say("program", set_program(event, seen.program("observe")));
    say("no second program", set_program(event, 1));
    say("second program", set_program(event, seen.program("observe")));
    say("link", link_event(event, seen.program("observe"), 1) ? 0 : errno);
    say("link of no program", link_event(event, 1, 1) ? 0 : errno);
}

void beside_none(const Seen& seen) {
    const auto inside = find_offset(9, 16);
    if (!inside) return;
    const Fd event = open_event({kGetpgid, *inside, false});
    say("alone", set_program(event, seen.program("observe")));
    wait_for_jump();
    const Fd refused = open_with_period(no_instruction_behind(*inside));
    say("no instruction begins there", refused ? 0 : errno);
}

void beside_coming(const Seen& seen) {
    const auto inside = find_offset(9, 16);
    if (!inside) return;
    const Fd event = open_event({kGetpgid, *inside, false});
    const uint64_t within = no_instruction_behind(*inside);
    say("alone", set_program(event, seen.program("observe")));
    say("no instruction begins there", error_while_jump_comes(within, 300));
    if (const auto other = find_offset(*inside + 1, *inside + kJumpLength))
        say("an instruction begins there", error_while_jump_comes(*other, 60));
}

}  // namespace djprobe::vm
