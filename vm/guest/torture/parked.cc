// SPDX-License-Identifier: GPL-2.0
// The guest's side of vm/lib/parked.py and vm/lib/coming.py: a victim on CPU 0 that makes one
// system call at a time, a patcher on CPU 1 that attaches and detaches; both do what the host
// writes into a shared page.
//
// Prints "control PHYSICAL", then "symbol NAME START END" for its arguments ("MODULE:NAME",
// "NAME"), then "ready".
#include "parked.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../guarded.h"
#include "../probes/harness/object.h"
#include "../probes/harness/probe.h"
#include "../symbols.h"

namespace djprobe::vm {
namespace {

constexpr size_t kSlots = 4;
constexpr int kTickUs = 200;

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) throw std::runtime_error("sched_setaffinity");
}

uint64_t physical(const void* page) {
    const auto address = reinterpret_cast<uintptr_t>(page);
    const Fd file(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    uint64_t entry = 0;
    if (pread(file.get(), &entry, sizeof entry, static_cast<off_t>(address / 4096 * 8)) != 8 ||
        !(entry >> 63))
        throw std::runtime_error("/proc/self/pagemap");
    return (entry & ((uint64_t{1} << 55) - 1)) * 4096;
}

/// A system call with known values in all registers. 1: one came back with another value, though
/// the kernel keeps all but rax, rcx and r11.
uint32_t checked_call(long number, long first, long second, long third, int64_t& result) {
    struct {
        uint64_t rbx, r8, r9, r10, r12, r13, r14, r15, rdi, rsi, rdx;
    } after;
    register long r10 asm("r10") = 0x1010'1010;
    register long r8 asm("r8") = 0x0808'0808;
    register long r9 asm("r9") = 0x0909'0909;
    register long r12 asm("r12") = 0x1212'1212;
    register long r13 asm("r13") = 0x1313'1313;
    register long r14 asm("r14") = 0x1414'1414;
    register long r15 asm("r15") = 0x1515'1515;
    long rbx = 0x0b0b'0b0b, rdi = first, rsi = second, rdx = third, rax = number;
    asm volatile("syscall"
                 : "+a"(rax), "+b"(rbx), "+D"(rdi), "+S"(rsi), "+d"(rdx), "+r"(r10), "+r"(r8),
                   "+r"(r9), "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15)
                 :
                 : "rcx", "r11", "memory");
    after = {static_cast<uint64_t>(rbx), static_cast<uint64_t>(r8),  static_cast<uint64_t>(r9),
             static_cast<uint64_t>(r10), static_cast<uint64_t>(r12), static_cast<uint64_t>(r13),
             static_cast<uint64_t>(r14), static_cast<uint64_t>(r15), static_cast<uint64_t>(rdi),
             static_cast<uint64_t>(rsi), static_cast<uint64_t>(rdx)};
    result = rax;
    return after.rbx != 0x0b0b'0b0b || after.r8 != 0x0808'0808 || after.r9 != 0x0909'0909 ||
           after.r10 != 0x1010'1010 || after.r12 != 0x1212'1212 || after.r13 != 0x1313'1313 ||
           after.r14 != 0x1414'1414 || after.r15 != 0x1515'1515 ||
           after.rdi != static_cast<uint64_t>(first) ||
           after.rsi != static_cast<uint64_t>(second) || after.rdx != static_cast<uint64_t>(third);
}

/// The third CPU goes or comes: 1, or -1.
int64_t put_online(bool online) {
    const Fd file(open("/sys/devices/system/cpu/cpu2/online", O_WRONLY | O_CLOEXEC));
    return write(file.get(), online ? "1" : "0", 1);
}

void victim(volatile ParkedControl& control) {
    pin(0);
    static char buffer[512];
    for (;;) {
        if (control.victim_done == control.victim_go) {
            usleep(kTickUs);
            continue;
        }
        int64_t result = 0;
        const auto address = reinterpret_cast<long>(buffer);
        switch (control.call) {
            case 0:
                control.wrong = checked_call(SYS_getpgid, 0, 2, 3, result);
                break;
            case 1:
                control.wrong = checked_call(SYS_getsid, 0, 2, 3, result);
                break;
            case 2:
                control.wrong = checked_call(SYS_getpriority, PRIO_PGRP, 0, 3, result);
                break;
            case 3:
                control.wrong = checked_call(SYS_sched_getscheduler, 0, 2, 3, result);
                break;
            case 4:
                control.wrong = checked_call(SYS_sched_getparam, 0, address, 3, result);
                break;
            case 5:
                control.wrong = checked_call(SYS_getrlimit, RLIMIT_NOFILE, address, 3, result);
                break;
            case 6:
            case 7:
                result = put_online(control.call == 7);
                break;
        }
        control.victim_result = result;
        control.victim_done = control.victim_go;
    }
}

class Patcher {
  public:
    void serve(volatile ParkedControl& control) {
        pin(1);
        for (;;) {
            if (control.patcher_done == control.patcher_go) {
                usleep(kTickUs);
                continue;
            }
            if (control.op == static_cast<uint32_t>(ParkedOp::End)) return;
            try {
                control.error = run(control);
            } catch (const std::exception&) {
                control.error = -1;
            }
            control.patcher_done = control.patcher_go;
        }
    }

  private:
    int run(volatile ParkedControl& control) {
        Probe& probe = probes_[control.slot % kSlots];
        switch (static_cast<ParkedOp>(control.op)) {
            case ParkedOp::Attach: {
                Request request;
                request.address = control.address;
                request.mode = static_cast<djprobe_mode>(control.mode);
                request.prog_fd = count_.program("on_hit");
                Answer answer = device_.attach(request);
                probe = std::move(answer.probe);
                control.reason = answer.reason;
                return answer.error;
            }
            case ParkedOp::Detach:
                probe.detach();
                return 0;
            case ParkedOp::Query:
                show(control, probe.query());
                return 0;
            case ParkedOp::Settle:
                show(control, probe.settle());
                return 0;
            case ParkedOp::Explain:
                return explain(control);
            case ParkedOp::Count:
                control.count = count_.sum("count", 0);
                return 0;
            case ParkedOp::End:
                break;
        }
        return -1;
    }

    static void show(volatile ParkedControl& control, const djprobe_query& query) {
        control.hits = query.hits;
        control.missed = missed(query);
        control.state = query.state;
        control.mechanism = query.mechanism;
        control.reason = query.reason;
        control.tactic = query.tactic;
    }

    int explain(volatile ParkedControl& control) const {
        djprobe_explain explain = {};
        explain.size = sizeof explain;
        explain.address = control.address;
        const int error = call_ioctl(device_.fd(), DJPROBE_IOC_EXPLAIN, &explain);
        control.verdict = explain.verdict;
        control.reason = explain.reason;
        control.tactic = explain.tactic;
        control.anchor = explain.anchor;
        control.region_len = explain.region_len;
        for (size_t i = 0; i < sizeof explain.region; ++i)
            control.region[i] = explain.region[i];
        return error;
    }

    Device device_;
    Object count_{"count"};
    Probe probes_[kSlots];
};

/// Where each function begins and where the next symbol does.
void print_symbols(const std::vector<std::string>& wanted) {
    const Kallsyms now = Kallsyms::read();
    std::map<uint64_t, std::string> symbols;
    for (const Symbol& symbol : now.symbols()) {
        std::string name = symbol.qualified_name();
        const auto same = std::ranges::find(wanted, name);
        auto& known = symbols[symbol.address];
        if (known.empty() || same != wanted.end()) known = std::move(name);
    }
    for (auto symbol = symbols.begin(); symbol != symbols.end(); ++symbol) {
        const auto next = std::next(symbol);
        if (next == symbols.end() || std::ranges::find(wanted, symbol->second) == wanted.end())
            continue;
        std::printf("symbol %s %#llx %#llx\n", symbol->second.c_str(),
                    static_cast<unsigned long long>(symbol->first),
                    static_cast<unsigned long long>(next->first));
    }
}

int run(int argc, char** argv) {
    void* const page =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap");
    auto* const control = static_cast<volatile ParkedControl*>(page);
    control->magic = kParkedMagic;
    std::printf("control %#llx\n", static_cast<unsigned long long>(physical(page)));
    print_symbols({argv + 1, argv + argc});
    Patcher patcher;
    std::thread(victim, std::ref(*control)).detach();
    std::printf("ready\n");
    std::fflush(stdout);
    patcher.serve(*control);
    return 0;
}

}  // namespace
}  // namespace djprobe::vm

int main(int argc, char** argv) {
    return djprobe::vm::guarded("parked", djprobe::vm::run, argc, argv);
}
