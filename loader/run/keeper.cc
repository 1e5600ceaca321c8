// SPDX-License-Identifier: GPL-2.0
#include "run/keeper.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <new>

#include "run/notifications.h"

namespace djprobe::loader {

struct Keeper::Shared {
    std::atomic<std::uint64_t> last_call{0};
    std::atomic<bool> is_over{false};
};

namespace {

// Not probeload's: 'pkill -9 probeload' leaves it.
constexpr const char* kName = "djprobe-keeper";

// The kernel numbers calls as they are made. The one that probeload had read when it was killed
// may not be noted yet, and calls before it may have been interrupted.
constexpr std::uint64_t kNotNoted = 64;

// Where an unshare() has been ('unshare -p' without -f), the tool is the first process of another
// PID namespace. That one's end would wait until the keeper had been reaped, which is not before
// the tool's end; and the keeper could not see its parent.
bool children_are_elsewhere() {
    struct stat own = {};
    struct stat of_children = {};
    return stat("/proc/self/ns/pid", &own) == 0 &&
           stat("/proc/self/ns/pid_for_children", &of_children) == 0 &&
           own.st_ino != of_children.st_ino;
}

// Whatever reaches the whole unit is no matter of the keeper's: SIGKILL only ends it.
// Returns what it waits with: SIGUSR1 is how it hears of probeload's end.
sigset_t block_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, nullptr);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    sigdelset(&all, SIGUSR1);
    return all;
}

// Ends with the last task under the filter.
[[noreturn]] void let_all_go_on(const UniqueFd& listener) {
    pollfd calls = {listener.get(), POLLIN, 0};
    for (;;) {
        if (poll(&calls, 1, -1) <= 0) continue;
        if (has_ended(calls.revents)) _exit(0);
        if (!has_call(calls.revents)) continue;
        if (const auto call = receive(listener)) call->answer(Answer::go_on());
    }
}

}  // namespace

// A child of a process that may have threads: it allocates nothing. The end of its parent it hears
// by a signal, as a pipe would take a descriptor of probeload's, whose limit may leave few.
Keeper::Keeper(const UniqueFd& listener) {
    if (children_are_elsewhere()) return;
    void* const page =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    shared_ = new (page) Shared;
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ != 0) return;
    // SIGKILL for probeload's group may leave what the tool has put in another one.
    setsid();
    const sigset_t waiting = block_signals();
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    prctl(PR_SET_NAME, kName);
    // No file, pipe or directory of the caller's stays in use for the sake of the keeper.
    const UniqueFd kept(dup2(listener.get(), STDIN_FILENO));
    close_range(STDIN_FILENO + 1, ~0U, 0);
    [[maybe_unused]] const int gone = chdir("/");
    pollfd tasks = {kept.get(), 0, 0};
    while (!shared_->is_over && getppid() == parent)
        if (ppoll(&tasks, 1, nullptr, &waiting) > 0 && has_ended(tasks.revents)) _exit(0);
    for (std::uint64_t call = 0; call <= kNotNoted; ++call)
        let_go_on(kept, shared_->last_call + call);
    let_all_go_on(kept);
}

Keeper::~Keeper() {
    if (!shared_) return;
    shared_->is_over = true;
    if (pid_ > 0) kill(pid_, SIGUSR1);
    munmap(shared_, sizeof(Shared));
}

void Keeper::note(std::uint64_t call) {
    if (shared_) shared_->last_call = call;
}

// It ends by itself, unless it has been stopped (SIGSTOP).
void Keeper::end() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

}  // namespace djprobe::loader
