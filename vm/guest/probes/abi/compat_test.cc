// SPDX-License-Identifier: GPL-2.0
// 32-bit callers: the same structs, and the same answers. This process is one as far as the kernel
// can tell, where it calls by int $0x80 with its arguments below 4 GiB.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

constexpr int kIoctl = 54, kGetpid = 20;  // of the 32-bit table

/// As the kernel returns it: a negative errno, or the result.
int call_32(int number, int a, unsigned b, unsigned c) {
    int result = number;
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(a), "c"(b), "d"(c)
                 : "memory", "cc", "r8", "r9", "r10", "r11");
    return result;
}

bool has_32_bit_calls() {
    // A kernel without them complains of who tries.
    if (!address_of("__ia32_compat_sys_ioctl")) return false;
    const pid_t pid = fork();
    if (pid == 0) _exit(call_32(kGetpid, 0, 0, 0) == getpid() ? 0 : 1);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr uint32_t kSites = 3;

/// All that the kernel is to read and write.
struct Arguments {
    char name[64];
    djprobe_info info;
    djprobe_attach attach;
    djprobe_explain explain;
    djprobe_site sites[kSites];
    djprobe_attach_many many;
    djprobe_query query;
    djprobe_total total;
    djprobe_enable enable;
    djprobe_query queries[kSites];
    djprobe_query_many query_many;
};

class Compat : public ProbeTest {
  protected:
    Compat() {
        void* const memory = mmap(nullptr, sizeof *low_, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no memory below 4 GiB");
        low_ = static_cast<Arguments*>(memory);
        std::strcpy(low_->name, kGetpgid);
    }
    ~Compat() override { munmap(low_, sizeof *low_); }
    void SetUp() override {
        if (!has_32_bit_calls()) GTEST_SKIP() << "a kernel without 32-bit system calls";
    }

    static int ioctl_32(int fd, unsigned long command, const void* argument) {
        return call_32(kIoctl, fd, static_cast<unsigned>(command),
                       static_cast<unsigned>(reinterpret_cast<uintptr_t>(argument)));
    }
    /// What each of the two says to the same question.
    template <class Struct>
    void expect_same(int fd, unsigned long command, Struct& low) const {
        Struct high = low;
        EXPECT_EQ(ioctl_32(fd, command, &low), 0);
        EXPECT_EQ(call_ioctl(fd, command, &high), 0);
        EXPECT_EQ(std::memcmp(&low, &high, sizeof low), 0) << command;
    }
    uint64_t name() const { return reinterpret_cast<uintptr_t>(low_->name); }

    Arguments* low_ = nullptr;
};

TEST_F(Compat, InfoAndExplain) {
    low_->info.size = sizeof low_->info;
    expect_same(device_.fd(), DJPROBE_IOC_INFO, low_->info);
    EXPECT_EQ(low_->info.abi_version, static_cast<uint32_t>(DJPROBE_ABI_VERSION));
    low_->explain.size = sizeof low_->explain;
    low_->explain.symbol = name();
    expect_same(device_.fd(), DJPROBE_IOC_EXPLAIN, low_->explain);
    EXPECT_EQ(low_->explain.verdict, DJPROBE_VERDICT_JUMP);
    EXPECT_GT(low_->explain.address, address_of(kGetpgid)) << "all 64 bits of it";
}

TEST_F(Compat, OneProbe) {
    Request request = at(kGetpgid);
    request.cookie = 0x123456789abcdef0;
    const Answer expected = device_.attach(request);
    ASSERT_EQ(expected.error, 0);
    low_->attach.size = sizeof low_->attach;
    low_->attach.symbol = name();
    low_->attach.cookie = request.cookie;
    low_->attach.prog_fd = counter();
    const Probe probe(Fd(ioctl_32(device_.fd(), DJPROBE_IOC_ATTACH, &low_->attach)));
    ASSERT_TRUE(probe);
    EXPECT_EQ(low_->attach.address, expected.address);
    EXPECT_EQ(low_->attach.reason, static_cast<uint32_t>(expected.reason));
    EXPECT_EQ(ioctl_32(probe.fd(), DJPROBE_IOC_WAIT, nullptr), 0);
    EXPECT_EQ(call_getpgid(10), 0u);
    low_->query.size = sizeof low_->query;
    expect_same(probe.fd(), DJPROBE_IOC_QUERY, low_->query);
    EXPECT_EQ(low_->query.mechanism, static_cast<uint32_t>(DJPROBE_MECHANISM_JUMP));
    EXPECT_EQ(low_->query.hits, 10u);
    EXPECT_EQ(low_->query.cookie, request.cookie);
    low_->total.size = sizeof low_->total;
    expect_same(probe.fd(), DJPROBE_IOC_TOTAL, low_->total);
    low_->enable.size = sizeof low_->enable;
    expect_same(probe.fd(), DJPROBE_IOC_ENABLE, low_->enable);
    EXPECT_EQ(probe.query().state, DJPROBE_STATE_DISARMED);
}

TEST_F(Compat, ManyProbes) {
    for (djprobe_site& site : low_->sites)
        site.symbol = name();
    low_->many.size = sizeof low_->many;
    low_->many.sites = reinterpret_cast<uintptr_t>(low_->sites);
    low_->many.count = kSites;
    low_->many.prog_fd = counter();
    const Probe probes(Fd(ioctl_32(device_.fd(), DJPROBE_IOC_ATTACH_MANY, &low_->many)));
    ASSERT_TRUE(probes);
    probes.settle();
    EXPECT_EQ(call_getpgid(5), 0u);
    low_->query_many.size = sizeof low_->query_many;
    low_->query_many.count = kSites;
    low_->query_many.entry_size = sizeof(djprobe_query);
    low_->query_many.queries = reinterpret_cast<uintptr_t>(low_->queries);
    djprobe_query queries[kSites] = {};
    djprobe_query_many high = low_->query_many;
    high.queries = reinterpret_cast<uintptr_t>(queries);
    EXPECT_EQ(ioctl_32(probes.fd(), DJPROBE_IOC_QUERY_MANY, &low_->query_many), 0);
    EXPECT_EQ(call_ioctl(probes.fd(), DJPROBE_IOC_QUERY_MANY, &high), 0);
    EXPECT_EQ(low_->query_many.count, kSites);
    EXPECT_EQ(std::memcmp(low_->queries, queries, sizeof queries), 0);
    for (const djprobe_query& query : queries) {
        EXPECT_EQ(query.address, low_->sites[0].address);
        EXPECT_EQ(query.hits, 5u);
    }
}

TEST_F(Compat, Refusals) {
    low_->attach.size = sizeof low_->attach;
    low_->attach.symbol = name();
    low_->attach.prog_fd = -1;
    EXPECT_EQ(ioctl_32(device_.fd(), DJPROBE_IOC_ATTACH, &low_->attach), -EBADF);
    EXPECT_EQ(low_->attach.reason, static_cast<uint32_t>(DJPROBE_REASON_PROG_FD));
    EXPECT_EQ(ioctl_32(device_.fd(), DJPROBE_IOC_ATTACH, nullptr), -EFAULT);
    EXPECT_EQ(ioctl_32(device_.fd(), _IO('j', 99), &low_->attach), -ENOTTY);
}

}  // namespace
}  // namespace djprobe::vm
