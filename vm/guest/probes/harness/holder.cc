// SPDX-License-Identifier: GPL-2.0
#include "holder.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <stdexcept>
#include <utility>

namespace djprobe::vm {
namespace {

[[noreturn]] void serve(int socket, const Request& request) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        const Device device;
        const Probe probe = device.must_attach(request);
        uint64_t hits = 0;
        while (write(socket, &hits, sizeof hits) == sizeof hits) {
            char question;
            if (read(socket, &question, 1) != 1) break;
            hits = probe.hits();
        }
    } catch (const std::exception&) {
    }
    _exit(1);
}

uint64_t answer(int socket) {
    uint64_t value = 0;
    if (read(socket, &value, sizeof value) != sizeof value)
        throw std::runtime_error("the process that holds a probe has ended");
    return value;
}

}  // namespace

Holder::Holder(const Request& request) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        throw std::runtime_error("socketpair");
    socket_ = Fd(pair[0]);
    Fd theirs(pair[1]);
    pid_ = fork();
    if (pid_ == 0) {
        socket_.reset();
        serve(theirs.get(), request);
    }
    if (pid_ < 0) throw std::runtime_error("fork");
    theirs.reset();  // else we would never see their end
    answer(socket_.get());
}

Holder::Holder(Holder&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}

uint64_t Holder::hits() {
    if (write(socket_.get(), "?", 1) != 1) throw std::runtime_error("write to a holder");
    return answer(socket_.get());
}

void Holder::end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

}  // namespace djprobe::vm
