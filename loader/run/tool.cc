// SPDX-License-Identifier: GPL-2.0
#include "run/tool.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/error.h"
#include "decode/quote.h"
#include "run/filter.h"

namespace djprobe::loader {
namespace {

// What the child says before it becomes the tool: the listener by its side, or errno; then, where
// it could not become it, a second message with errno.
struct Word {
    int error = 0;
    bool of_filter = false;
};

union Control {
    cmsghdr align;
    std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

void send_word(int socket, Word word, int fd) {
    iovec data = {&word, sizeof word};
    Control control = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (fd >= 0) {
        message.msg_control = control.bytes.data();
        message.msg_controllen = control.bytes.size();
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    sendmsg(socket, &message, MSG_NOSIGNAL);
}

// False: the other end is closed.
bool receive_word(int socket, Word& word, UniqueFd& fd) {
    iovec data = {&word, sizeof word};
    Control control = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0) return false;
    if (const cmsghdr* const header = CMSG_FIRSTHDR(&message)) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(header), sizeof number);
        fd = UniqueFd(number);
    }
    return true;
}

void send_listener(Filter filter, int socket) {
    const UniqueFd listener = filter == Filter::kNone ? UniqueFd() : install_tool_filter();
    const int error = errno;
    send_word(socket, {listener ? 0 : error}, listener.get());
    if (listener || filter != Filter::kRequired) return;
    send_word(socket, {error, true}, -1);
    _exit(127);
}

void drop_stdout() {
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0) return;
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
}

[[noreturn]] void become(char* const* argv, Filter filter, Stdout output, const sigset_t& blocked,
                         int socket) {
    sigprocmask(SIG_SETMASK, &blocked, nullptr);
    if (output == Stdout::kNone) drop_stdout();
    send_listener(filter, socket);
    execvp(argv[0], argv);
    send_word(socket, {errno}, -1);
    _exit(127);
}

}  // namespace

Tool Tool::start(const std::vector<std::string>& argv, Filter filter, Stdout output,
                 const sigset_t& blocked) {
    std::vector<char*> raw;
    raw.reserve(argv.size() + 1);
    for (const std::string& argument : argv)
        raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::system_error(errno, std::generic_category(), "socketpair");
    const UniqueFd ours(ends[0]);
    UniqueFd theirs(ends[1]);
    // The parent process may ignore SIGCHLD: then the kernel keeps no child's status. Each tool
    // gets what the first one gets.
    static const auto of_parent = ::signal(SIGCHLD, SIG_DFL);
    Tool tool;
    tool.pid_ = fork();
    if (tool.pid_ == 0) {
        ::signal(SIGCHLD, of_parent);
        become(raw.data(), filter, output, blocked, theirs.get());
    }
    if (tool.pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    theirs = UniqueFd();
    tool.pidfd_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, tool.pid_, 0)));
    Word word;
    UniqueFd nothing;
    receive_word(ours.get(), word, tool.listener_);
    tool.filter_error_ = word.error;
    if (!receive_word(ours.get(), word, nothing)) return tool;
    tool.wait();
    if (word.of_filter)
        fail(word.error == EACCES ? ExitCode::kNoPermission : ExitCode::kFailure,
             "{} is not run: {}", printable_name(argv[0]), why_no_filter(word.error));
    throw std::system_error(word.error, std::generic_category(), printable_name(argv[0]));
}

void Tool::signal(int number) const {
    syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

int Tool::wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void reap_orphans(pid_t but) {
    siginfo_t child = {};
    while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 && child.si_pid != 0 &&
           child.si_pid != but) {
        waitpid(child.si_pid, nullptr, 0);
        child = {};
    }
}

// A service manager takes what SIGTERM has ended for stopped, and what has exited with 143 for
// failed; a shell leaves its loop where Ctrl-C has ended a command. The first process of a PID
// namespace is not ended by its own signal.
int end_as(int status) {
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    const int number = WTERMSIG(status);
    prctl(PR_SET_DUMPABLE, 0);  // the tool has left its core, if any
    ::signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(number);
    return 128 + number;
}

}  // namespace djprobe::loader
