// SPDX-License-Identifier: GPL-2.0
// What the ioctls refuse, and with which errno: see uapi/djprobe.h.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

/// Runs `body` in a child process and returns what it returned (0 to 254).
int in_child(const std::function<int()>& body) {
    const pid_t pid = fork();
    if (pid == 0) _exit(body());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/// A struct with room behind it for what a newer caller might send.
template <typename Struct>
struct Roomy {
    Struct known = {};
    unsigned char tail[64] = {};
};

class Abi : public ProbeTest {
  protected:
    /// A request that succeeds as it is.
    Roomy<djprobe_attach> good() const {
        Roomy<djprobe_attach> request;
        request.known.size = sizeof request.known;
        request.known.symbol = reinterpret_cast<uintptr_t>(kGetpgid);
        request.known.prog_fd = counter();
        return request;
    }
    /// Its result; a probe that it made is gone again.
    int attach(const void* request) const {
        const Fd fd(call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH, request));
        return fd.get() < 0 ? fd.get() : 0;
    }
    int attach(const std::function<void(djprobe_attach&)>& change) const {
        Roomy<djprobe_attach> request = good();
        change(request.known);
        return attach(&request);
    }
};

TEST_F(Abi, InfoNamesVersionAndKernel) {
    djprobe_info info = {};
    info.size = sizeof info;
    ASSERT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_INFO, &info), 0);
    utsname name;
    ASSERT_EQ(uname(&name), 0);
    EXPECT_EQ(info.abi_version, static_cast<uint32_t>(DJPROBE_ABI_VERSION));
    EXPECT_EQ(info.size, sizeof info);
    EXPECT_STREQ(info.release, name.release);
}

TEST_F(Abi, StructSizes) {
    EXPECT_EQ(attach([](djprobe_attach&) {}), 0);
    for (const uint32_t size : {0u, 4u, static_cast<uint32_t>(sizeof(djprobe_attach)) - 8})
        EXPECT_EQ(attach([&](djprobe_attach& request) { request.size = size; }), -EINVAL) << size;
    Roomy<djprobe_attach> larger = good();
    larger.known.size = sizeof larger;
    EXPECT_EQ(attach(&larger), 0);
    larger = good();
    larger.known.size = sizeof larger;
    larger.tail[60] = 1;
    EXPECT_EQ(attach(&larger), -E2BIG);

    const Probe probe = device_.must_attach(at(kGetpgid));
    Roomy<djprobe_query> query;
    query.known.size = sizeof query.known - 8;
    EXPECT_EQ(call_ioctl(probe.fd(), DJPROBE_IOC_QUERY, &query), -EINVAL);
    query.known.size = sizeof query;
    EXPECT_EQ(call_ioctl(probe.fd(), DJPROBE_IOC_QUERY, &query), 0);
    EXPECT_EQ(query.known.size, sizeof query);
    query = {};
    query.known.size = sizeof query;
    query.tail[0] = 1;
    EXPECT_EQ(call_ioctl(probe.fd(), DJPROBE_IOC_QUERY, &query), -E2BIG);
    djprobe_info info = {};
    EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_INFO, &info), -EINVAL);
}

TEST_F(Abi, WhatIsReservedMustBeZero) {
    const auto refuses = [&](const char* what, const std::function<void(djprobe_attach&)>& change) {
        EXPECT_EQ(attach(change), -EINVAL) << what;
    };
    refuses("flags", [](djprobe_attach& request) { request.flags = 2; });
    refuses("flags", [](djprobe_attach& request) { request.flags = 1u << 31; });
    refuses("an entry program without a session",
            [](djprobe_attach& request) { request.entry_prog_fd = 1; });
    refuses("mode", [](djprobe_attach& request) { request.mode = 2; });
    refuses("symbol and address", [](djprobe_attach& request) { request.address = 1; });
    refuses("offset without symbol", [](djprobe_attach& request) {
        request.symbol = 0;
        request.address = address_of(kGetpgid);
        request.offset = 1;
    });
    djprobe_explain explain = {};
    explain.size = sizeof explain;
    explain.address = address_of(kGetpgid);
    explain.reserved = 1;
    EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_EXPLAIN, &explain), -EINVAL);
    explain.reserved = 0;
    explain.flags = DJPROBE_ATTACH_SHADOW;
    EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_EXPLAIN, &explain), -EINVAL);
    explain.flags = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW | DJPROBE_ATTACH_SESSION;
    EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_EXPLAIN, &explain), -EINVAL);
    explain.flags = 0;
    EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_EXPLAIN, &explain), 0);
    EXPECT_EQ(explain.verdict, DJPROBE_VERDICT_JUMP);
}

TEST_F(Abi, SwitchesTakeAllProbesOutAndPutThemBack) {
    const auto set = [&](uint32_t change, uint32_t on, uint32_t* stand = nullptr) {
        djprobe_switch request = {};
        request.size = sizeof request;
        request.change = change;
        request.on = on;
        const int error = call_ioctl(device_.fd(), DJPROBE_IOC_SWITCH, &request);
        if (stand) *stand = request.on;
        return error;
    };
    constexpr uint32_t kProbes = DJPROBE_SWITCH_PROBES, kJumps = DJPROBE_SWITCH_JUMPS;
    uint32_t stand = 0;
    EXPECT_EQ(set(4, 0), -EINVAL);
    EXPECT_EQ(set(kProbes, kJumps), -EINVAL);
    EXPECT_EQ(set(0, 0, &stand), 0);
    EXPECT_EQ(stand, kProbes | kJumps);

    const Probe probe = device_.must_attach(at(kGetpgid));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    EXPECT_EQ(set(kJumps, 0, &stand), 0);
    EXPECT_EQ(stand, kProbes);
    EXPECT_EQ(probe.settle().mechanism, uint32_t{DJPROBE_MECHANISM_INT3});
    EXPECT_EQ(set(kProbes, 0, &stand), 0);
    EXPECT_EQ(stand, 0u);
    EXPECT_EQ(probe.query().mechanism, uint32_t{DJPROBE_MECHANISM_NONE});
    EXPECT_EQ(probe.query().reason, uint32_t{DJPROBE_REASON_DISABLED});
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(probe.hits(), 0u);
    EXPECT_EQ(set(kProbes | kJumps, kProbes | kJumps, &stand), 0);
    EXPECT_EQ(stand, kProbes | kJumps);
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(probe.hits(), 10u);
}

TEST_F(Abi, SessionsNeedBothProgramsAndShadows) {
    const auto session = [&](int entry_prog_fd) {
        return attach([&](djprobe_attach& request) {
            request.flags = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW | DJPROBE_ATTACH_SESSION;
            request.entry_prog_fd = entry_prog_fd;
        });
    };
    EXPECT_EQ(session(-1), -EBADF);
    EXPECT_EQ(session(device_.fd()), -EBADF);

    djprobe_site site = {};
    site.address = address_of(kGetpgid);
    const auto sessions = [&](uint32_t flags, int entry_prog_fd) {
        djprobe_attach_many many = {};
        many.size = sizeof many;
        many.sites = reinterpret_cast<uint64_t>(&site);
        many.count = 1;
        many.prog_fd = counter();
        many.flags = flags;
        many.entry_prog_fd = entry_prog_fd;
        return call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH_MANY, &many);
    };
    for (const uint32_t flags : {0, 1}) {
        site.flags = flags;  // enum djprobe_attach_flags: a session is of shadows only
        EXPECT_EQ(sessions(DJPROBE_ATTACH_SESSION, counter()), -EINVAL) << flags;
    }
    site.flags = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;
    EXPECT_EQ(sessions(0, counter()), -EINVAL);
    EXPECT_EQ(sessions(DJPROBE_ATTACH_RETURN, counter()), -EINVAL);
    EXPECT_EQ(sessions(DJPROBE_ATTACH_SESSION, -1), -EBADF);
    const Fd right(sessions(DJPROBE_ATTACH_SESSION, counter()));
    EXPECT_TRUE(right);
}

TEST_F(Abi, PointersThatLeadNowhere) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    char* const unmapped = static_cast<char*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(unmapped, MAP_FAILED);
    ASSERT_EQ(munmap(unmapped + 4096, 4096), 0);
    for (const void* bad :
         {static_cast<const void*>(nullptr), static_cast<const void*>(unmapped + 4096),
          reinterpret_cast<const void*>(address_of(kGetpgid))}) {
        EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_INFO, bad), -EFAULT);
        EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH, bad), -EFAULT);
        EXPECT_EQ(call_ioctl(probe.fd(), DJPROBE_IOC_QUERY, bad), -EFAULT);
        if (bad) {
            EXPECT_EQ(attach([&](djprobe_attach& request) {
                          request.symbol = reinterpret_cast<uintptr_t>(bad);
                      }),
                      -EFAULT);
        }
    }
    // The size can be read, the rest cannot.
    const uint32_t size = sizeof(djprobe_attach);
    char* const edge = unmapped + 4096 - sizeof size;
    std::memcpy(edge, &size, sizeof size);
    EXPECT_EQ(attach(static_cast<const void*>(edge)), -EFAULT);

    // The answer cannot be written: a probe that no process could know must not stay.
    Roomy<djprobe_attach> request = good();
    auto* const readonly = unmapped;
    std::memcpy(readonly, &request, sizeof request);
    ASSERT_EQ(mprotect(readonly, 4096, PROT_READ), 0);
    EXPECT_EQ(attach(static_cast<const void*>(readonly)), -EFAULT);
    munmap(unmapped, 4096);
}

TEST_F(Abi, NamesOfAnyLength) {
    const auto named = [&](const std::string& name) {
        return attach([&](djprobe_attach& request) {
            request.symbol = reinterpret_cast<uintptr_t>(name.c_str());
        });
    };
    EXPECT_EQ(named(""), -ENOENT);
    EXPECT_EQ(named(":"), -ENOENT);
    EXPECT_EQ(named("no_such_module:vfs_read"), -ENOENT);
    EXPECT_EQ(named(std::string(500, 'x')), -ENOENT);
    EXPECT_EQ(named(std::string(5000, 'x')), -EINVAL);
}

TEST_F(Abi, UnknownCommands) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    djprobe_query query = {};
    query.size = sizeof query;
    EXPECT_EQ(call_ioctl(device_.fd(), _IO('j', 99), nullptr), -ENOTTY);
    EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_QUERY, &query), -ENOTTY);
    EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_WAIT, nullptr), -ENOTTY);
    EXPECT_EQ(call_ioctl(probe.fd(), DJPROBE_IOC_ATTACH, &query), -ENOTTY);
    EXPECT_EQ(call_ioctl(probe.fd(), DJPROBE_IOC_INFO, &query), -ENOTTY);
    EXPECT_EQ(call_ioctl(probe.fd(), _IO('k', 2), &query), -ENOTTY);
}

TEST_F(Abi, OthersThanRootMayNotOpen) {
    EXPECT_EQ(in_child([] {
                  if (setresuid(65534, 65534, 65534)) return 254;
                  return open(DJPROBE_DEVICE, O_RDWR) < 0 ? errno : 0;
              }),
              EACCES);
}

/// Root without `capability`.
int drop_capability(unsigned capability) {
    __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct data[2] = {};
    if (syscall(SYS_capget, &header, data)) return -1;
    data[capability / 32].effective &= ~(1u << capability % 32);
    return static_cast<int>(syscall(SYS_capset, &header, data));
}

TEST_F(Abi, NeitherMayWhoHasLostHisCapabilities) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    const auto all_refused = [&] {
        djprobe_info info = {};
        info.size = sizeof info;
        djprobe_query query = {};
        query.size = sizeof query;
        Roomy<djprobe_attach> request = good();
        return call_ioctl(device_.fd(), DJPROBE_IOC_INFO, &info) == -EPERM &&
               call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH, &request) == -EPERM &&
               call_ioctl(probe.fd(), DJPROBE_IOC_QUERY, &query) == -EPERM &&
               call_ioctl(probe.fd(), DJPROBE_IOC_WAIT, nullptr) == -EPERM;
    };
    EXPECT_EQ(in_child([&] {
                  if (setresuid(65534, 65534, 65534)) return 2;
                  return all_refused() ? 0 : 1;
              }),
              0);
    for (const unsigned needed : {CAP_BPF, CAP_PERFMON})
        EXPECT_EQ(in_child([&] {
                      if (drop_capability(CAP_SYS_ADMIN) || drop_capability(needed)) return 2;
                      if (!all_refused()) return 1;
                      return open(DJPROBE_DEVICE, O_RDWR) < 0 && errno == EPERM ? 0 : 3;
                  }),
                  0)
            << needed;
}

// As with the kernel's own kprobes. What concerns the probes of all is the administrator's.
TEST_F(Abi, TwoCapabilitiesAreEnoughToProbe) {
    EXPECT_EQ(in_child([&] {
                  if (drop_capability(CAP_SYS_ADMIN)) return 2;
                  if (open(DJPROBE_DEVICE, O_RDWR) < 0) return 3;
                  Roomy<djprobe_attach> request = good();
                  if (call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH, &request) < 0) return 4;
                  djprobe_switch asked = {};
                  asked.size = sizeof asked;
                  if (call_ioctl(device_.fd(), DJPROBE_IOC_SWITCH, &asked) < 0) return 5;
                  asked.change = DJPROBE_SWITCH_PROBES;
                  asked.on = 0;
                  return call_ioctl(device_.fd(), DJPROBE_IOC_SWITCH, &asked) == -EPERM ? 0 : 6;
              }),
              0);
}

// A refused attach has changed nothing: the site can be had at once, and by another way.
TEST_F(Abi, AfterAllThatTheSiteWorks) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(probe.hits(), 10u);
}

}  // namespace
}  // namespace djprobe::vm
