// SPDX-License-Identifier: GPL-2.0
// abifuzz: calls to the ioctl ABI, right and wrong ones, from processes and threads that take each
// other's fds away. Each answer must be one that the model of the call allows.
#include "abifuzz.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "../guarded.h"
#include "../probes/harness/load.h"
#include "../probes/harness/object.h"
#include "../probes/harness/probe.h"

namespace djprobe::vm {
namespace {

constexpr const char* kUsage =
    "usage: abifuzz [--calls N] [--seed N] [--jobs N]\n"
    "N ioctl calls (default 1000000), spread over so many processes (default 4).\n"
    "exit status: 0; 1 an answer that the ABI does not allow; 2 error\n";

constexpr size_t kPage = 4096;
constexpr uint64_t kEpisode = 2000;  // calls between one process's fork, passing, closing
constexpr size_t kMostProbes = 8;
constexpr uint64_t kProgress = 1'000'000;
constexpr uint64_t kCostly = 200;  // one in so many calls that take milliseconds is let through

struct Options {
    uint64_t calls = 1'000'000;
    uint64_t seed = 1;
    unsigned jobs = 4;
};

/// Of all processes: shared memory.
struct Totals {
    std::atomic<uint64_t> calls, accepted, refused, racing, passed, forked, wrong;
    std::atomic<uint64_t> by_errno[134];
};

Totals* totals;

/// For the whole process tree, before the first fork.
struct World {
    Device device;
    Object count{"count"};
    Fd event, link;  ///< of the kernel's
    Surroundings around;
    std::vector<Fd> owned;

    World() {
        around.good_program = count.program("on_hit");
        around.good_map = count.map("count");
        open_kernel_files();
        const auto own = [&](int fd) {
            if (fd >= 0) owned.emplace_back(fd);
            around.bad_programs.push_back(fd);
            around.other_files.push_back(fd);
        };
        own(socket(AF_UNIX, SOCK_STREAM, 0));
        own(open("/dev/null", O_RDWR));
        own(open("/", O_RDONLY));
        own(dup(count.map("count")));
        own(-1);
        own(-100);
        around.bad_programs.push_back(1 << 20);
        around.bad_programs.push_back(device.fd());
        around.bad_pointers = {0,
                               1,
                               0xfff,
                               0x7fff'ffff'f000,
                               0x8000'0000'0000,
                               ~uint64_t{0},
                               ~uint64_t{0} - 4096,
                               address_of(kGetpgid)};
        around.symbols = {kGetpgid,           "do_getpgid",      "__x64_sys_getsid",
                          "vfs_read",         "notify_die",      "start_kernel",
                          "no_such_function", "djprobe:djk_hit", "no_such_module:f"};
        around.addresses = {address_of(kGetpgid),
                            address_of("do_getpgid"),
                            address_of("_stext"),
                            address_of("_etext"),
                            1,
                            ~uint64_t{0}};
    }

    /// The link's kprobe is where the fuzzer itself never comes.
    void open_kernel_files() {
        perf_event_attr attr = {};
        attr.size = sizeof attr;
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_DUMMY;
        const auto open = [&attr] {
            return Fd(static_cast<int>(
                syscall(SYS_perf_event_open, &attr, -1, 0, -1, uint64_t{PERF_FLAG_FD_CLOEXEC})));
        };
        event = open();
        std::ifstream("/sys/bus/event_source/devices/kprobe/type") >> attr.type;
        attr.config = 0;
        attr.config1 = reinterpret_cast<uintptr_t>("__x64_sys_getresuid");
        link = Fd(bpf_link_create(around.good_program, open().get(), BPF_PERF_EVENT, nullptr));
        if (!event || !link) throw std::runtime_error("files of the kernel's own probes");
        around.perf_event = event.get();
        around.bpf_link = link.get();
    }
};

class Fuzzer {
  public:
    Fuzzer(const World& world, uint64_t seed, uint64_t calls)
        : world_(world), dice_(seed), calls_(calls) {
        page_ = static_cast<uint8_t*>(
            mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        // Two views: the protection of the one that the module sees changes under it.
        const Fd memory(memfd_create("racing", MFD_CLOEXEC));
        if (ftruncate(memory.get(), kPage)) throw std::runtime_error("ftruncate");
        const auto view = [&] {
            return static_cast<uint8_t*>(
                mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0));
        };
        racing_page_ = view();
        racing_bytes_ = view();
        if (page_ == MAP_FAILED || racing_page_ == MAP_FAILED || racing_bytes_ == MAP_FAILED)
            throw std::runtime_error("mmap");
        munmap(page_ + kPage, kPage);
        around_ = world.around;
        around_.bad_pointers.push_back(reinterpret_cast<uintptr_t>(page_ + kPage));
        for (const Command& command : commands())
            weights_ += command.weight;
    }

    void run() {
        std::thread racer(&Fuzzer::race, this);
        for (uint64_t made = 0; made < calls_; ++made) {
            if (made % kEpisode == kEpisode - 1) episode();
            one();
        }
        stop_ = true;
        racer.join();
    }

  private:
    /// Another thread: changes the arguments under the module's hands, takes fds away.
    void race() {
        Dice dice(calls_);
        while (!stop_) {
            racing_bytes_[dice.below(kPage)] = static_cast<uint8_t>(dice.below(256));
            if (dice.one_in(500))
                mprotect(racing_page_, kPage, dice.one_in(2) ? PROT_READ : PROT_READ | PROT_WRITE);
            if (dice.one_in(500)) madvise(racing_page_, kPage, MADV_DONTNEED);
            const int fd = racing_fd_.exchange(-1);
            if (fd >= 0) close(fd);
            usleep(100);
        }
    }

    const Command& choose() {
        uint64_t at = dice_.below(weights_);
        for (const Command& command : commands()) {
            if (at < command.weight) return command;
            at -= command.weight;
        }
        return commands().back();
    }

    void one() {
        const Command& command = choose();
        const bool costly = command.costly && !dice_.one_in(kCostly);
        const bool mistake = costly || dice_.one_in(2);
        around_.probe = probes_.empty() ? -1 : any_probe();
        Model model = fill(command, page_, mistake, around_, dice_);
        // Another kind of file; with right arguments that would take long it must be one.
        const bool other = dice_.one_in(20) || (costly && model.success);
        const auto [fd, own] = fd_for(command, other, model);
        const void* argument = page_;
        if (command.number == DJPROBE_IOC_EVENT && own) {
            const uint64_t kind = dice_.below(DJPROBE_EVENT_LINK + 2);
            argument = reinterpret_cast<const void*>(kind);
            if (kind > DJPROBE_EVENT_LINK) model.must_fail(EINVAL);
        }
        const bool racing = own && !costly && command.size && dice_.one_in(200);
        if (racing) {
            std::memcpy(racing_bytes_, page_, kPage);
            argument = racing_page_;
            ++totals->racing;
        } else if (command.size && own && dice_.one_in(30)) {
            argument = reinterpret_cast<const void*>(
                around_.bad_pointers[dice_.below(around_.bad_pointers.size())]);
            model = {};
            model.must_fail(EFAULT);
        } else if (command.size && dice_.one_in(30)) {
            // The struct ends where the memory does, or after.
            const size_t size = dice_.below(command.size);
            auto* const edge = page_ + kPage - size;
            std::memmove(edge, page_, size);
            argument = edge;
            if (own) {
                model.errors.insert({EFAULT, EINVAL, E2BIG});
                model.success = false;
            }
        }
        const int result = call_ioctl(fd, command.number, argument);
        judge(command, result, model, racing);
        if (result < 0 || !command.makes_fd) return;
        if (command.number == DJPROBE_IOC_EVENT)
            event_ = Fd(result);
        else
            keep(result);
    }

    /// Where to ask. The model becomes that of the fd where it is not one of the command's own.
    struct Asked {
        int fd;
        bool own;  ///< it is of the kind that the command is for
    };
    Asked fd_for(const Command& command, bool other, Model& model) {
        const bool probe = command.side == Side::Probe;
        if (command.side == Side::Event && event_ && !other) return {event_.get(), true};
        const bool has_probe = !probes_.empty();
        const bool known = probe || command.side == Side::Control;
        if (known && !other && (!probe || has_probe))
            return {probe ? any_probe() : world_.device.fd(), true};
        model = {};
        model.must_fail(ENOTTY);
        if (!known) return {dice_.one_in(2) && has_probe ? any_probe() : world_.device.fd(), false};
        if (dice_.one_in(2) && (probe || has_probe))
            return {probe ? world_.device.fd() : any_probe(), false};
        model.errors.insert({EBADF, EINVAL});  // some files say so
        return {around_.other_files[dice_.below(around_.other_files.size())], false};
    }

    int any_probe() { return probes_[dice_.below(probes_.size())].get(); }

    void keep(int fd) {
        probes_.emplace_back(fd);
        if (probes_.size() < kMostProbes) return;
        const size_t victim = dice_.below(probes_.size());
        // Half of them are closed by the other thread, while we go on.
        if (dice_.one_in(2)) {
            int none = -1;
            const int taken = probes_[victim].release();
            if (!racing_fd_.compare_exchange_strong(none, taken)) close(taken);
        }
        probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(victim));
    }

    void judge(const Command& command, int result, const Model& model, bool racing) {
        // A run of hours says where it is: one that is ended early has its count, too.
        const uint64_t made = ++totals->calls;
        if (made % kProgress == 0) {
            std::printf("abifuzz: %llu calls, %llu wrong\n", static_cast<unsigned long long>(made),
                        static_cast<unsigned long long>(totals->wrong));
            std::fflush(stdout);
        }
        ++(result < 0 ? totals->refused : totals->accepted);
        const int error = result < 0 ? -result : 0;
        if (error < 134) ++totals->by_errno[error];
        bool legal = error ? model.errors.contains(error) : model.success;
        // Whatever the racing thread left there: any answer that the ABI knows.
        if (racing)
            legal = !error || error == EFAULT || error == EINVAL || error == E2BIG ||
                    error == EBADF || error == EOPNOTSUPP || error == ERANGE || error == ENOENT ||
                    error == EILSEQ || error == EACCES || error == ENOTUNIQ || error == EBUSY ||
                    error == ENXIO;
        if (legal || totals->wrong++ > 20) return;
        std::string allowed = model.success ? " success" : "";
        for (const int one : model.errors)
            allowed += std::string(" ") + strerrorname_np(one);
        uint64_t words[12];
        std::memcpy(words, page_, sizeof words);
        std::fprintf(stderr, "%s answered %s; legal:%s; argument:", command.name,
                     error ? strerrorname_np(error) : "success", allowed.c_str());
        for (const uint64_t word : words)
            std::fprintf(stderr, " %llx", static_cast<unsigned long long>(word));
        std::fprintf(stderr, "\n");
    }

    void episode() {
        switch (dice_.below(4)) {
            case 0:
                pass_fd();
                break;
            case 1:
                fork_and_call();
                break;
            case 2:
                unprivileged();
                break;
            case 3:
                probes_.clear();
                event_.reset();
                break;
        }
    }

    /// A probe lives in a socket, too; and dies there.
    void pass_fd() {
        if (probes_.empty()) return;
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return;
        const Fd first(pair[0]), second(pair[1]);
        const size_t at = dice_.below(probes_.size());
        char byte = 0;
        iovec data = {&byte, 1};
        alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
        msghdr message = {};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = room;
        message.msg_controllen = sizeof room;
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        const int fd = probes_[at].get();
        std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
        if (sendmsg(first.get(), &message, 0) != 1) return;
        probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(at));
        ++totals->passed;
        if (dice_.one_in(2)) return;  // it ends with the socket
        if (recvmsg(second.get(), &message, MSG_CMSG_CLOEXEC) != 1) return;
        const cmsghdr* const answer = CMSG_FIRSTHDR(&message);
        if (!answer) return;
        int received;
        std::memcpy(&received, CMSG_DATA(answer), sizeof received);
        probes_.emplace_back(received);
        djprobe_query query = {};
        query.size = sizeof query;
        Model model;
        std::memcpy(page_, &query, sizeof query);
        judge(commands()[4], call_ioctl(received, DJPROBE_IOC_QUERY, &query), model, false);
    }

    void fork_and_call() {
        const uint64_t seed = dice_.below(~uint64_t{0});
        const pid_t pid = fork();
        if (pid == 0) {
            dice_ = Dice(seed);
            for (int i = 0; i < 200; ++i)
                one();
            if (seed % 2) kill(getpid(), SIGKILL);
            _exit(0);
        }
        ++totals->forked;
        if (dice_.one_in(2) && pid > 0) kill(pid, SIGKILL);  // somewhere in a call
        if (pid > 0) waitpid(pid, nullptr, 0);
    }

    /// A user without rights who was given the fds; in a namespace of his own he is root.
    void unprivileged() {
        const uint64_t seed = dice_.below(~uint64_t{0});
        const pid_t pid = fork();
        if (pid == 0) {
            dice_ = Dice(seed);
            if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)) _exit(0);
            if (seed % 2 && unshare(CLONE_NEWUSER)) _exit(0);
            const int fd = open(DJPROBE_DEVICE, O_RDWR);
            if (fd >= 0 || (errno != EACCES && errno != EPERM)) ++totals->wrong;
            for (const Command& command : commands()) {
                Model model = fill(command, page_, seed % 3 == 0, around_, dice_);
                model = {};
                model.must_fail(EPERM);
                const bool control = command.side == Side::Control || probes_.empty();
                judge(command,
                      call_ioctl(control ? world_.device.fd() : any_probe(), command.number, page_),
                      model, false);
            }
            _exit(0);
        }
        ++totals->forked;
        if (pid > 0) waitpid(pid, nullptr, 0);
    }

    const World& world_;
    Dice dice_;
    uint64_t calls_;
    uint64_t weights_ = 0;
    Surroundings around_;
    uint8_t* page_;
    uint8_t* racing_page_;   // what the module is given
    uint8_t* racing_bytes_;  // the same memory
    std::vector<Fd> probes_;
    Fd event_;  ///< the last one
    std::atomic<int> racing_fd_{-1};
    std::atomic<bool> stop_{false};
};

Options parse(int argc, char** argv) {
    static const option kLong[] = {{"calls", required_argument, nullptr, 'c'},
                                   {"seed", required_argument, nullptr, 's'},
                                   {"jobs", required_argument, nullptr, 'j'},
                                   {nullptr, 0, nullptr, 0}};
    Options options;
    for (int key; (key = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
        const uint64_t value = key == '?' ? 0 : std::strtoull(optarg, nullptr, 0);
        if (key == 'c' && value) {
            options.calls = value;
        } else if (key == 's') {
            options.seed = value;
        } else if (key == 'j' && value) {
            options.jobs = static_cast<unsigned>(value);
        } else {
            throw std::runtime_error(kUsage);
        }
    }
    return options;
}

void report() {
    std::printf(
        "calls %llu accepted %llu refused %llu racing %llu passed %llu forked %llu wrong %llu\n",
        static_cast<unsigned long long>(totals->calls),
        static_cast<unsigned long long>(totals->accepted),
        static_cast<unsigned long long>(totals->refused),
        static_cast<unsigned long long>(totals->racing),
        static_cast<unsigned long long>(totals->passed),
        static_cast<unsigned long long>(totals->forked),
        static_cast<unsigned long long>(totals->wrong));
    for (int error = 1; error < 134; ++error)
        if (totals->by_errno[error])
            std::printf("  %s %llu\n", strerrorname_np(error),
                        static_cast<unsigned long long>(totals->by_errno[error]));
}

int run(int argc, char** argv) {
    const Options options = parse(argc, argv);
    totals = static_cast<Totals*>(
        mmap(nullptr, sizeof(Totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (totals == MAP_FAILED) throw std::runtime_error("mmap");
    const World world;
    std::vector<pid_t> children;
    for (unsigned job = 0; job < options.jobs; ++job) {
        const pid_t pid = fork();
        if (pid == 0) {
            try {
                Fuzzer(world, options.seed * 1000 + job, options.calls / options.jobs + 1).run();
            } catch (const std::exception& error) {
                std::fprintf(stderr, "abifuzz: %s\n", error.what());
                _exit(2);
            }
            _exit(0);
        }
        children.push_back(pid);
    }
    bool ended = true;
    for (const pid_t pid : children) {
        int status = 0;
        ended &= waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    report();
    if (!ended) throw std::runtime_error("a process of ours died");
    if (!totals->accepted) throw std::runtime_error("no call was accepted");
    // So many episodes that all kinds were surely among them.
    constexpr uint64_t kEnough = 100;
    if (options.calls >= kEnough * kEpisode && (!totals->passed || !totals->forked))
        throw std::runtime_error("no fd was passed, or no process forked");
    return totals->wrong || totals->calls < options.calls;
}

}  // namespace
}  // namespace djprobe::vm

int main(int argc, char** argv) {
    return djprobe::vm::guarded("abifuzz", djprobe::vm::run, argc, argv);
}
