// SPDX-License-Identifier: GPL-2.0
#include "random.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "../probes/harness/load.h"
#include "../probes/harness/probe.h"
#include "asks.h"

namespace djprobe::vm {
namespace {

constexpr size_t kMostFds = 8;
constexpr size_t kPage = 4096;

class Asker {
  public:
    Asker(uint64_t seed, int plain, int multi)
        : dice_(seed), programs_{plain, plain, multi, 1, -1, 1000} {
        page_ = static_cast<char*>(
            mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        munmap(page_ + kPage, kPage);
    }

    void ask() {
        if (one_in(12)) fds_[below(kMostFds)].reset();
        switch (below(8)) {
            case 0:
            case 1:
            case 2:
                return event();
            case 3:
                return control();
            case 4:
            case 5:
                return link();
            default:
                return look();
        }
    }

  private:
    uint64_t below(uint64_t limit) { return dice_() % limit; }
    bool one_in(uint64_t n) { return below(n) == 0; }
    template <class T>
    const T& of(const std::vector<T>& choices) {
        return choices[below(choices.size())];
    }

    /// Prints the answer, and keeps what is a descriptor in place of another one. An answer that
    /// differs changes one place, not which calls follow.
    void answer(const char* what, long result, bool gives) {
        std::printf("%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "ok");
        if (!gives) return;
        Fd& place = fds_[below(kMostFds)];
        if (result >= 0) place = Fd(static_cast<int>(result));
    }

    int some_fd() { return one_in(6) ? of(programs_) : fds_[below(kMostFds)].get(); }

    uint64_t some_name() {
        if (one_in(12)) return reinterpret_cast<uintptr_t>(page_ + kPage);
        if (one_in(12)) return 1;
        const char* const name = of(names_);
        // At the end of what can be read, now and then.
        char* const to = one_in(4) ? page_ + kPage - std::strlen(name) - 1 : page_;
        return reinterpret_cast<uintptr_t>(std::strcpy(to, name));
    }

    void event() {
        // 9: behind what ftrace owns.
        static const std::vector<uint64_t> kPlaces = {0, 0, 0, 1, 9, 9, 4096, ~uint64_t{0}};
        char room[256] = {};
        auto& attr = *reinterpret_cast<perf_event_attr*>(room);
        attr.type = one_in(10) ? static_cast<uint32_t>(below(10)) : kprobe_type();
        // Tracepoint 1 is a call of any function: to turn it on takes an emulated CPU seconds.
        if (attr.type == PERF_TYPE_TRACEPOINT) attr.type = PERF_TYPE_SOFTWARE;
        attr.size = one_in(10) ? static_cast<uint32_t>(below(200)) : sizeof attr;
        attr.config = one_in(10) ? below(4) : below(2);
        attr.config1 = one_in(8) ? 0 : some_name();
        attr.config2 = attr.config1 ? of(kPlaces) : address_of(kGetpgid) + of(kPlaces);
        if (one_in(8)) attr.sample_period = below(3);
        if (one_in(12)) attr.sample_type = uint64_t{1} << below(28);
        if (one_in(12)) attr.inherit = 1;
        if (one_in(12)) room[below(sizeof room - 16) + 16] = 1;
        const int pid = one_in(8) ? static_cast<int>(below(3)) - 1 : -1;
        const int cpu = one_in(8) ? static_cast<int>(below(4)) - 1 : 0;
        const int group = one_in(12) ? some_fd() : -1;
        const uint64_t flags = one_in(10) ? below(32) : PERF_FLAG_FD_CLOEXEC;
        const void* const at = one_in(30) ? page_ + kPage - 8 : room;
        answer("event", syscall(SYS_perf_event_open, at, pid, cpu, group, flags), true);
    }

    void control() {
        const int fd = some_fd();
        answer("program", ioctl(fd, PERF_EVENT_IOC_SET_BPF, of(programs_)), false);
        answer("enable", ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), false);
    }

    void link() {
        bpf_attr attr = {};
        attr.link_create.prog_fd = static_cast<uint32_t>(of(programs_));
        if (one_in(2)) {
            attr.link_create.target_fd = static_cast<uint32_t>(some_fd());
            attr.link_create.attach_type = BPF_PERF_EVENT;
            attr.link_create.perf_event.bpf_cookie = below(3);
        } else {
            names_of_link_ = {some_name(), some_name()};
            attr.link_create.attach_type =
                one_in(10) ? static_cast<uint32_t>(below(50)) : uint32_t{BPF_TRACE_KPROBE_MULTI};
            auto& multi = attr.link_create.kprobe_multi;
            multi.flags = one_in(10) ? below(4) : below(2);
            multi.cnt = one_in(10) ? below(1u << 30) : 1 + below(2);
            if (!one_in(10)) multi.syms = reinterpret_cast<uintptr_t>(names_of_link_.data());
            if (one_in(10)) multi.addrs = 1 + below(9);
        }
        if (one_in(12)) attr.link_create.flags = static_cast<uint32_t>(below(4));
        if (one_in(12)) reinterpret_cast<char*>(&attr)[below(sizeof attr)] = 1;
        const unsigned size = one_in(12) ? static_cast<unsigned>(below(200)) : sizeof attr;
        answer("link", syscall(SYS_bpf, BPF_LINK_CREATE, &attr, size), true);
    }

    void look() {
        bpf_link_info info = {};
        bpf_attr attr = {};
        const int fd = some_fd();
        attr.info.bpf_fd = static_cast<uint32_t>(fd);
        attr.info.info_len = one_in(6) ? static_cast<uint32_t>(below(64)) : sizeof info;
        attr.info.info = one_in(10) ? below(9) : reinterpret_cast<uintptr_t>(&info);
        answer("info", syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr), false);
        attr = {};
        attr.link_detach.link_fd = static_cast<uint32_t>(fd);
        answer("detach", syscall(SYS_bpf, BPF_LINK_DETACH, &attr, sizeof attr), false);
        attr = {};
        attr.bpf_fd = static_cast<uint32_t>(fd);
        attr.pathname = some_name();
        // No path is one of a BPF file system.
        answer("pin", syscall(SYS_bpf, BPF_OBJ_PIN, &attr, sizeof attr), false);
        attr = {};
        attr.link_update.link_fd = static_cast<uint32_t>(fd);
        attr.link_update.new_prog_fd = static_cast<uint32_t>(of(programs_));
        if (one_in(4)) attr.link_update.flags = static_cast<uint32_t>(below(8));
        if (one_in(4)) attr.link_update.old_prog_fd = static_cast<uint32_t>(of(programs_));
        answer("update", syscall(SYS_bpf, BPF_LINK_UPDATE, &attr, sizeof attr), false);
        uint64_t count = 0;
        answer("read", read(fd, &count, one_in(4) ? 4 : sizeof count), false);
    }

    std::mt19937_64 dice_;
    std::vector<int> programs_;
    std::vector<const char*> names_ = {kGetpgid,   "__x64_sys_getsid", "vfs_read",
                                       "vfs_read", "no_such_function", ""};
    std::vector<uint64_t> names_of_link_;
    std::array<Fd, kMostFds> fds_;
    char* page_;
};

}  // namespace

void ask_at_random(uint64_t calls, uint64_t seed, int plain, int multi) {
    Asker asker(seed, plain, multi);
    for (uint64_t i = 0; i < calls; ++i)
        asker.ask();
}

}  // namespace djprobe::vm
