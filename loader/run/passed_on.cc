// SPDX-License-Identifier: GPL-2.0
#include "run/passed_on.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace djprobe::loader {
namespace {

bool asks_for_an_end(int signal) {
    return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP;
}

// Of a timer that was set before exec() has made the process probeload: alone, the tool would have
// it.
bool is_of_timer(const signalfd_siginfo& info) {
    const auto signal = static_cast<int>(info.ssi_signo);
    return info.ssi_code == SI_KERNEL &&
           (signal == SIGALRM || signal == SIGVTALRM || signal == SIGPROF);
}

}  // namespace

PassedOn::PassedOn() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM,
                             SIGPROF, SIGIO, SIGPWR})
        sigaddset(&wanted, number);
    for (int number = SIGRTMIN; number <= SIGRTMAX; ++number)
        sigaddset(&wanted, number);
    sigprocmask(SIG_BLOCK, &wanted, &before_);
    fd_ = UniqueFd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

PassedOn::~PassedOn() {
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool PassedOn::pass_on(const Tool& tool) const {
    bool end = false;
    signalfd_siginfo info = {};
    while (read(fd_.get(), &info, sizeof info) == sizeof info) {
        const int number = static_cast<int>(info.ssi_signo);
        const bool is_sent = info.ssi_code <= 0 && !watch_.reached_tool(number);
        if (is_sent || is_of_timer(info)) tool.signal(number);
        end |= asks_for_an_end(number);
    }
    return end;
}

}  // namespace djprobe::loader
