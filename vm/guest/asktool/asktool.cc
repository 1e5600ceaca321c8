// SPDX-License-Identifier: GPL-2.0
// asktool: a tool as they are in the field. It places kprobes in all the ways there are, makes
// hits, and prints what its programs have seen, and what each call has answered: under `probeload
// run` each line is to be the same as without.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../probes/harness/load.h"
#include "asks.h"
#include "beside.h"
#include "child.h"
#include "info.h"
#include "opener.h"
#include "random.h"
#include "seen.h"
#include "whose.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kCookie = 7;

void events(const Seen& seen) {
    const int program = seen.program("observe");
    for (const bool at_return : {false, true}) {
        const std::string kind = at_return ? "kretprobe" : "kprobe";
        const Fd event = open_event({kGetpgid, 0, at_return});
        say(kind + " opened", event ? 0 : errno);
        say("program", set_program(event, program));
        say("another program", set_program(event, program));
        seen.show(kind, 0, at_return);
        say("disabled", ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0) ? errno : 0);
        seen.show(kind + " disabled", 0, at_return);
        say("enabled", ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) ? errno : 0);
        uint64_t number = 0;
        say("number", ioctl(event.get(), PERF_EVENT_IOC_ID, &number) ? errno : 0);
        say("number by a 32-bit call", number_32(event));
        count_of(event);
        wait_for(event);
        pollfd waiting = {event.get(), POLLIN, 0};
        poll(&waiting, 1, 0);
        std::printf("poll: %x\n", static_cast<unsigned>(waiting.revents));
    }
    seen.show("closed", 0);
    const Fd by_address = open_event({nullptr, address_of(kGetpgid), false});
    say("by address", set_program(by_address, program));
    seen.show("by address", 0);
}

/// The first instruction boundary behind what ftrace owns is one of these.
void offsets(const Seen& seen) {
    for (const uint64_t offset : {1, 5, 9, 10, 12, 14}) {
        const std::string place = "offset " + std::to_string(offset);
        const Fd event = open_event({kGetpgid, offset, false});
        say(place, event ? 0 : errno);
        if (!event) continue;
        say("program", set_program(event, seen.program("observe")));
        seen.show(place, 0);
    }
}

void links(const Seen& seen) {
    const int program = seen.program("observe");
    for (const bool at_return : {false, true}) {
        Fd event = open_event({kGetpgid, 0, at_return});
        Fd link = link_event(event, program, kCookie);
        say("link", link ? 0 : errno);
        say("program beside a link", set_program(event, program));
        seen.show("link", kCookie, at_return);
        event.reset();
        seen.show("link without event", kCookie, at_return);
        bpf_attr detach = {};
        detach.link_detach.link_fd = static_cast<uint32_t>(link.get());
        say("detach", -bpf_call(BPF_LINK_DETACH, &detach, sizeof detach));
        bpf_attr update = {};
        update.link_update.link_fd = static_cast<uint32_t>(link.get());
        update.link_update.new_prog_fd = static_cast<uint32_t>(program);
        say("update", -bpf_call(BPF_LINK_UPDATE, &update, sizeof update));
        update.link_update.new_prog_fd = 999;
        say("update to nothing", -bpf_call(BPF_LINK_UPDATE, &update, sizeof update));
        update.link_update.flags = 2;
        say("update with odd flags", -bpf_call(BPF_LINK_UPDATE, &update, sizeof update));
        link.reset();
        seen.show("no link", kCookie);
    }
    // The other order: the event stays, and takes another link.
    const Fd event = open_event({kGetpgid, 0, false});
    link_event(event, program, kCookie).reset();
    seen.show("link closed", kCookie);
    const Fd again = link_event(event, program, kCookie + 1);
    say("link again", again ? 0 : errno);
    seen.show("link again", kCookie + 1);
}

void multi(const Seen& seen) {
    const std::vector<const char*> both = {kGetpgid, "__x64_sys_getsid"};
    for (const bool at_return : {false, true}) {
        const Fd link = link_multi(both, seen.program("observe_multi"), at_return);
        say("multi", link ? 0 : errno);
        seen.show("multi", 0, at_return);
        const Fd asking = link_multi(both, seen.program("asking_multi"), at_return, {3, 4});
        say("multi that asks", asking ? 0 : errno);
        seen.show("multi that asks", 1, at_return);
    }
    const Fd odd = link_multi({kGetpgid, "no_such_function"}, seen.program("observe_multi"), false);
    say("multi with a stranger", odd ? 0 : errno);
}

void refused_link(const Seen& seen) {
    say("plain as multi", link_multi({kGetpgid}, seen.program("observe"), false) ? 0 : errno);
}

void wrong(const Seen& seen, const Seen& multi) {
    const Fd event = open_event({kGetpgid, 0, false});
    say("no fd", set_program(event, -1));
    say("no program", set_program(event, 0));
    say("no function", open_event({"no_such_function", 0, false}) ? 0 : errno);
    say("no text", open_event({nullptr, 4096, false}) ? 0 : errno);
    say("return inside", open_event({kGetpgid, 5, true}) ? 0 : errno);
    say("link of no event", link_event(Fd(dup(1)), seen.program("observe"), 0) ? 0 : errno);
    refused_link(seen);
    say("multi as plain", set_program(event, multi.program("observe_multi")));
}

/// Copies of a descriptor, other processes and threads: the last one that closes it ends it.
void lives(const Seen& seen) {
    const int program = seen.program("observe");
    Fd event = open_event({kGetpgid, 0, false});
    say("program", set_program(event, program));
    Fd copy(dup(event.get()));
    event.reset();
    seen.show("a copy is left", 0);
    WaitingChild child([] {});
    copy.reset();
    seen.show("a child has it", 0);
    child.run_to_its_end();
    seen.show("the child has ended", 0);
    Fd of_thread;
    std::thread([&] {
        of_thread = open_event({kGetpgid, 0, false});
        say("program of a thread", set_program(of_thread, program));
    }).join();
    seen.show("a thread's", 0);
}

/// Descriptors that only one thread has, and those of a process whose first thread has ended.
void threads(const Seen& seen) {
    const int program = seen.program("observe");
    const auto ask = [&](const char* of) {
        const Fd event = open_event({kGetpgid, 0, false});
        say(std::string("event of ") + of, event ? 0 : errno);
        say("program", set_program(event, program));
        const Fd other = open_event({kGetpgid, 0, true});
        const Fd link = link_event(other, program, kCookie);
        say("link", link ? 0 : errno);
    };
    std::thread([&] {
        unshare(CLONE_FILES);
        // From here on the numbers of the two tables differ.
        const Fd one(dup(1)), two(dup(1));
        ask("a thread's own table");
    }).join();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        static const auto* const last = &ask;
        std::thread([] {
            usleep(200'000);
            (*last)("a process without its first thread");
            std::fflush(stdout);
            _exit(0);
        }).detach();
        // Not pthread_exit(), which unwinds this stack: the thread uses it.
        syscall(SYS_exit, 0);
    }
    waitpid(child, nullptr, 0);
}

/// As many probes as there are descriptors for.
void many(const Seen& seen) {
    const int program = seen.program("observe");
    std::vector<Fd> events;
    for (;;) {
        Fd event = open_event({kGetpgid, 0, false});
        if (!event) break;
        // Each second one by a link, which takes one more.
        const bool by_link = events.size() % 2 == 1;
        Fd link = by_link ? link_event(event, program, kCookie) : Fd();
        if (by_link && !link) break;
        say("program", by_link ? 0 : set_program(event, program));
        events.push_back(std::move(by_link ? link : event));
    }
    say("no more events", errno);
    seen.count("many", 0);
}

/// A link that gets no descriptor counts no hit, however soon that comes.
void no_room(const Seen& seen) {
    const Fd event = open_event({kGetpgid, 0, false});
    std::vector<Fd> others;
    for (Fd other(dup(1)); other; other = Fd(dup(1)))
        others.push_back(std::move(other));
    for (int i = 0; i < 50; ++i) {
        const Fd link = link_event(event, seen.program("observe"), kCookie);
        say("link", link ? 0 : errno);
        seen.count("no link", kCookie);
    }
}

/// Prints each signal as it comes: so many, and what more comes within a moment.
void print_signals(unsigned long count) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    std::puts("ready");
    std::fflush(stdout);
    const timespec moment = {0, 500'000'000};
    for (unsigned long seen = 0;; ++seen) {
        const int number =
            seen < count ? sigwaitinfo(&all, nullptr) : sigtimedwait(&all, nullptr, &moment);
        if (number < 0) return;
        std::printf("signal %d\n", number);
        std::fflush(stdout);
    }
}

/// Becomes a command for which it has set an alarm.
int run_with_alarm(char** command) {
    alarm(1);
    execvp(command[0], command);
    std::perror(command[0]);
    return 2;
}

void unrelated(const Seen& seen) {
    const Fd event = open_event({"__x64_sys_getsid", 0, false});
    say("far from the others", set_program(event, seen.program("observe")));
    beside(seen);
}

/// A tool that counts until Ctrl-C.
void watch(const Seen& seen) {
    const Fd event = open_event({kGetpgid, 0, false});
    if (set_program(event, seen.program("observe")) == 0) pause();
}

}  // namespace
}  // namespace djprobe::vm

/// asktool [CALLS SEED]: so many random calls. asktool watch: one probe, and nothing else. asktool
/// refused: a link that the kernel refuses, and an event. asktool coming: such an event while a
/// jump comes. asktool beside: only the probes that the kernel must place where others are, and one
/// that is far from them. asktool info: what links tell of themselves. asktool forbidden: what
/// --strict forbids. asktool linked: second links of an event. asktool untraced: what the kernel
/// refuses, and djprobe takes. asktool threads: threads with descriptors of their own. asktool
/// many: as many probes as there are descriptors for. asktool no-room: a link without a descriptor.
/// asktool signals N: which signals come. asktool one-task, one-cgroup: events that count for
/// these. asktool opener: what an event tells of who has opened it. asktool killed: children that
/// are killed while they ask. asktool alarm COMMAND...: the command, with an alarm in a second.
int main(int argc, char** argv) {
    using namespace djprobe::vm;
    try {
        if (argc == 3 && std::string_view(argv[1]) == "signals") {
            print_signals(std::stoul(argv[2]));
            return 0;
        }
        if (argc > 2 && std::string_view(argv[1]) == "alarm") return run_with_alarm(argv + 2);
        const Seen plain("observe"), multis("observe_multi");
        if (argc == 2 && std::string_view(argv[1]) == "refused") {
            refused_link(plain);
            beside_none(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "coming") {
            beside_coming(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "forbidden") {
            forbidden(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "linked") {
            linked_twice(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "untraced") {
            untraced(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "threads") {
            threads(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "many") {
            many(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "no-room") {
            no_room(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "info") {
            infos(plain, multis);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "beside") {
            unrelated(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "one-task") {
            of_one_task(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "one-cgroup") {
            of_one_cgroup(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "opener") {
            opener(plain);
            return 0;
        }
        if (argc == 2 && std::string_view(argv[1]) == "killed") {
            killed(plain);
            return 0;
        }
        if (argc == 2) {
            watch(plain);
            return 2;
        }
        if (argc == 3) {
            ask_at_random(std::stoull(argv[1]), std::stoull(argv[2]), plain.program("observe"),
                          multis.program("observe_multi"));
            return 0;
        }
        events(plain);
        offsets(plain);
        links(plain);
        multi(multis);
        wrong(plain, multis);
        lives(plain);
        beside(plain);
        infos(plain, multis);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "asktool: %s\n", error.what());
        return 2;
    }
}
