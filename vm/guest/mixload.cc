// SPDX-License-Identifier: GPL-2.0
// mixload: one thread that goes through fs/ and net/ the same way each time, and does little else.
//
// A round writes, reads, renames and removes a file, lists a folder, and sends through a pipe, a
// Unix socket, TCP and UDP over loopback. Nothing waits for another task, so a round takes as many
// instructions as its system calls do.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

constexpr const char* kUsage =
    "usage: mixload N [REPEATS]\n"
    "Makes N rounds of system calls of files, pipes and sockets on one CPU, after a tenth of them "
    "to\n"
    "warm up; REPEATS times (default 3). Prints \"ns N\", the shortest repeat's time for a round.\n"
    "exit status: 0; 1 a call failed; 2 error\n";

constexpr int kNames = 10;
constexpr std::size_t kPage = 4096, kMessage = 1000, kLarge = 32768;

void check(bool good, const char* what) {
    if (good) return;
    std::fprintf(stderr, "mixload: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

void pass(int from, int to, std::size_t size) {
    static std::array<char, kLarge> buffer;
    check(write(from, buffer.data(), size) == static_cast<ssize_t>(size), "write");
    std::size_t got = 0;
    while (got < size) {
        const ssize_t part = read(to, buffer.data(), size - got);
        check(part > 0, "read");
        got += static_cast<std::size_t>(part);
    }
}

struct Pair {
    int a = -1, b = -1;
};

sockaddr_in loopback(int fd) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    socklen_t size = sizeof address;
    check(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
    return address;
}

class Tcp {
  public:
    Tcp() : listener_(socket(AF_INET, SOCK_STREAM, 0)), address_(loopback(listener_)) {
        check(listen(listener_, 8) == 0, "listen");
    }
    [[nodiscard]] Pair pair() const {
        Pair pair;
        pair.a = socket(AF_INET, SOCK_STREAM, 0);
        check(connect(pair.a, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) == 0,
              "connect");
        pair.b = accept(listener_, nullptr, nullptr);
        check(pair.b >= 0, "accept");
        // An answer is not to wait for a timer.
        const int on = 1;
        for (const int fd : {pair.a, pair.b})
            check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
        return pair;
    }

  private:
    int listener_;
    sockaddr_in address_;
};

Pair udp_pair() {
    Pair pair{socket(AF_INET, SOCK_DGRAM, 0), socket(AF_INET, SOCK_DGRAM, 0)};
    loopback(pair.a);
    const sockaddr_in to = loopback(pair.b);
    check(connect(pair.a, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "connect");
    return pair;
}

Pair unix_pair() {
    int fds[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
    return {fds[0], fds[1]};
}

Pair pipe_pair() {
    int fds[2];
    check(pipe(fds) == 0, "pipe");
    return {fds[1], fds[0]};
}

class Round {
  public:
    Round() : tcp_(server_.pair()), poll_(epoll_create1(0)) {
        mkdir(folder_.c_str(), 0700);
        for (int i = 0; i < kNames; ++i)
            close(creat((folder_ + "/" + std::to_string(i)).c_str(), 0600));
        for (const Pair& pair : {tcp_, udp_, unix_, pipe_}) {
            epoll_event event = {};
            event.events = EPOLLIN;
            check(epoll_ctl(poll_, EPOLL_CTL_ADD, pair.b, &event) == 0, "epoll_ctl");
        }
    }
    void run() {
        file();
        list();
        for (int i = 0; i < 4; ++i) {
            pass(pipe_.a, pipe_.b, 64);
            pass(unix_.a, unix_.b, kMessage);
            pass(tcp_.a, tcp_.b, kMessage);
            pass(tcp_.b, tcp_.a, kMessage);
            pass(udp_.a, udp_.b, kMessage / 2);
        }
        pass(tcp_.a, tcp_.b, kLarge);
        epoll_event events[4];
        check(epoll_wait(poll_, events, 4, 0) == 0, "epoll_wait");
        connection();
    }

  private:
    void file() const {
        const std::string name = folder_ + "/file", other = folder_ + "/other";
        std::array<char, kPage> page = {};
        struct stat status;
        const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
        check(fd >= 0, "open");
        check(write(fd, page.data(), kPage) == static_cast<ssize_t>(kPage), "write");
        check(pwrite(fd, page.data(), kMessage, 700) == static_cast<ssize_t>(kMessage), "pwrite");
        check(lseek(fd, 0, SEEK_SET) == 0, "lseek");
        for (int i = 0; i < 4; ++i)
            check(read(fd, page.data(), kPage / 4) == static_cast<ssize_t>(kPage / 4), "read");
        check(fstat(fd, &status) == 0, "fstat");
        check(ftruncate(fd, 100) == 0, "ftruncate");
        check(fsync(fd) == 0, "fsync");
        close(fd);
        check(stat(name.c_str(), &status) == 0, "stat");
        check(rename(name.c_str(), other.c_str()) == 0, "rename");
        check(unlink(other.c_str()) == 0, "unlink");
    }
    void list() const {
        DIR* const folder = opendir(folder_.c_str());
        check(folder != nullptr, "opendir");
        int names = 0;
        while (readdir(folder) != nullptr)
            ++names;
        closedir(folder);
        check(names == kNames + 2, "readdir");
    }
    void connection() const {
        const Pair pair = server_.pair();
        pass(pair.a, pair.b, kMessage);
        close(pair.a);
        close(pair.b);
    }

    std::string folder_ = "/tmp/mixload.d";
    Tcp server_;
    Pair tcp_, udp_ = udp_pair(), unix_ = unix_pair(), pipe_ = pipe_pair();
    int poll_;
};

double now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double repeat(Round& round, long rounds) {
    const double begin = now_ns();
    for (long i = 0; i < rounds; ++i)
        round.run();
    return (now_ns() - begin) / static_cast<double>(rounds);
}

}  // namespace

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? std::atol(argv[1]) : 0;
    const long repeats = argc > 2 ? std::atol(argv[2]) : 3;
    if (argc > 3 || rounds < 1 || repeats < 1) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    Round round;
    for (long i = 0; i < rounds / 10 + 1; ++i)
        round.run();
    double least = 0;
    for (long i = 0; i < repeats; ++i) {
        const double took = repeat(round, rounds);
        least = i == 0 ? took : std::min(least, took);
    }
    std::printf("ns %.0f\n", least);
    return 0;
}
