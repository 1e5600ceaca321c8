// SPDX-License-Identifier: GPL-2.0
// What a refused call leaves: nothing in the caller's structs, no fd, no byte in the text.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "../harness/capability.h"
#include "../harness/fixture.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

constexpr uint8_t kPoison = 0xaa;

/// As a newer caller's; poisoned, but for its size.
template <class Struct>
struct RoomyRequest {
    RoomyRequest() {
        std::memset(static_cast<void*>(this), kPoison, sizeof *this);
        known.size = sizeof known;
    }
    Struct known;
    uint8_t tail[64];
};

/// What was published first of a struct.
template <class Struct>
constexpr uint32_t kFirstSize = sizeof(Struct);
template <>
constexpr uint32_t kFirstSize<djprobe_attach_many> = offsetof(djprobe_attach_many, actions);

size_t open_fds() {
    DIR* const fds = opendir("/proc/self/fd");
    if (!fds) throw std::runtime_error("no /proc/self/fd");
    size_t count = 0;
    while (readdir(fds))
        ++count;
    closedir(fds);
    return count;
}

class Refusal : public ProbeTest {
  protected:
    Refusal() {
        attach_.known.flags = 0;
        attach_.known.symbol = reinterpret_cast<uintptr_t>(kGetpgid);
        attach_.known.offset = attach_.known.address = 0;
        attach_.known.prog_fd = counter();
        attach_.known.mode = DJPROBE_MODE_AUTO;
        attach_.known.entry_prog_fd = 0;

        explain_.known.flags = explain_.known.reserved = 0;
        explain_.known.symbol = attach_.known.symbol;
        explain_.known.offset = explain_.known.address = 0;

        std::memset(&site_, kPoison, sizeof site_);
        site_.symbol = attach_.known.symbol;
        site_.offset = site_.address = 0;
        site_.flags = 0;
        many_.known.flags = 0;
        many_.known.sites = reinterpret_cast<uintptr_t>(&site_);
        many_.known.count = 1;
        many_.known.mode = DJPROBE_MODE_AUTO;
        many_.known.prog_fd = counter();
        many_.known.entry_prog_fd = 0;
        many_.known.actions = many_.known.action_count = many_.known.times_fd = 0;

        query_.known.index = query_.known.flags = 0;
        enable_.known.enable = 1;
        query_many_.known.first = 0;
        query_many_.known.count = 1;
        query_many_.known.entry_size = sizeof queried_;
        query_many_.known.queries = reinterpret_cast<uintptr_t>(&queried_);
        std::memset(&queried_, kPoison, sizeof queried_);
    }
    void SetUp() override { fds_ = open_fds(); }
    void TearDown() override { EXPECT_EQ(open_fds(), fds_); }

    /// With `change` the call fails so, and writes nothing.
    template <class Struct>
    void untouched(
        const char* what, int error, int fd, unsigned long command,
        const RoomyRequest<Struct>& request,
        const std::function<void(RoomyRequest<Struct>&)>& change = [](auto&) {}) const {
        RoomyRequest<Struct> asked = request;
        change(asked);
        RoomyRequest<Struct> given = asked;
        const djprobe_site site = site_;
        const djprobe_query queried = queried_;
        EXPECT_EQ(call_ioctl(fd, command, &given), error) << what;
        EXPECT_EQ(std::memcmp(&given, &asked, sizeof given), 0) << what;
        EXPECT_EQ(std::memcmp(&site, &site_, sizeof site), 0) << what << ", the site";
        EXPECT_EQ(std::memcmp(&queried, &queried_, sizeof queried), 0) << what << ", the answers";
    }
    /// All calls, each as it would succeed but for `change`.
    template <class Change>
    void all_untouched(int error, const Probe& probe, Change change) const {
        const int control = device_.fd();
        untouched<djprobe_info>("INFO", error, control, DJPROBE_IOC_INFO, {}, change);
        untouched<djprobe_attach>("ATTACH", error, control, DJPROBE_IOC_ATTACH, attach_, change);
        untouched<djprobe_explain>("EXPLAIN", error, control, DJPROBE_IOC_EXPLAIN, explain_,
                                   change);
        untouched<djprobe_attach_many>("ATTACH_MANY", error, control, DJPROBE_IOC_ATTACH_MANY,
                                       many_, change);
        untouched<djprobe_query>("QUERY", error, probe.fd(), DJPROBE_IOC_QUERY, query_, change);
        untouched<djprobe_enable>("ENABLE", error, probe.fd(), DJPROBE_IOC_ENABLE, enable_, change);
        untouched<djprobe_total>("TOTAL", error, probe.fd(), DJPROBE_IOC_TOTAL, {}, change);
        untouched<djprobe_query_many>("QUERY_MANY", error, probe.fd(), DJPROBE_IOC_QUERY_MANY,
                                      query_many_, change);
    }

    RoomyRequest<djprobe_attach> attach_;
    RoomyRequest<djprobe_explain> explain_;
    djprobe_site site_;
    RoomyRequest<djprobe_attach_many> many_;
    RoomyRequest<djprobe_query> query_;
    RoomyRequest<djprobe_enable> enable_;
    RoomyRequest<djprobe_query_many> query_many_;
    djprobe_query queried_;

  private:
    size_t fds_ = 0;
};

TEST_F(Refusal, OfAWrongSizeWritesNothing) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    all_untouched(-EINVAL, probe, [](auto& request) {
        request.known.size = kFirstSize<decltype(request.known)> - 8;
    });
    all_untouched(-E2BIG, probe, [](auto& request) { request.known.size = sizeof request; });
    all_untouched(-E2BIG, probe, [](auto& request) { request.known.size = 4097; });
}

TEST_F(Refusal, ForWantOfTheCapabilityWritesNothing) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    const Without admin(CAP_SYS_ADMIN);
    for (const unsigned needed : {CAP_BPF, CAP_PERFMON}) {
        const Without one(needed);
        all_untouched(-EPERM, probe, [](auto&) {});
    }
}

TEST_F(Refusal, OfWhatMakesNoSenseWritesNothing) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    const auto attach = [&](const std::function<void(djprobe_attach&)>& change) {
        untouched<djprobe_attach>("ATTACH", -EINVAL, device_.fd(), DJPROBE_IOC_ATTACH, attach_,
                                  [&](auto& request) { change(request.known); });
    };
    attach([](djprobe_attach& request) { request.mode = 2; });
    attach([](djprobe_attach& request) { request.flags = 16; });
    attach([](djprobe_attach& request) {
        request.flags = DJPROBE_ATTACH_COUNT | DJPROBE_ATTACH_RETURN;
    });
    attach([](djprobe_attach& request) {
        request.flags = DJPROBE_ATTACH_COUNT;
        request.entry_prog_fd = 1;
    });
    attach([](djprobe_attach& request) { request.address = 1; });
    attach([](djprobe_attach& request) { request.entry_prog_fd = 1; });
    const std::string name(600, 'x');
    attach([&](djprobe_attach& request) {
        request.symbol = reinterpret_cast<uintptr_t>(name.c_str());
    });
    untouched<djprobe_explain>("EXPLAIN", -EINVAL, device_.fd(), DJPROBE_IOC_EXPLAIN, explain_,
                               [](auto& request) { request.known.reserved = 1; });
    const auto many = [&](const std::function<void(djprobe_attach_many&)>& change) {
        untouched<djprobe_attach_many>("ATTACH_MANY", -EINVAL, device_.fd(),
                                       DJPROBE_IOC_ATTACH_MANY, many_,
                                       [&](auto& request) { change(request.known); });
    };
    many([](djprobe_attach_many& request) { request.count = 0; });
    many([](djprobe_attach_many& request) { request.count = DJPROBE_MANY_MAX + 1; });
    many([](djprobe_attach_many& request) { request.mode = 2; });
    many([](djprobe_attach_many& request) { request.flags = DJPROBE_ATTACH_SESSION; });
    site_.flags = DJPROBE_ATTACH_SHADOW;
    many([](djprobe_attach_many&) {});
    site_.flags = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;
    many([](djprobe_attach_many& request) { request.flags = DJPROBE_ATTACH_COUNT; });
    untouched<djprobe_query>("QUERY", -EINVAL, probe.fd(), DJPROBE_IOC_QUERY, query_,
                             [](auto& request) { request.known.flags = 1; });
    untouched<djprobe_enable>("ENABLE", -EINVAL, probe.fd(), DJPROBE_IOC_ENABLE, enable_,
                              [](auto& request) { request.known.enable = 2; });
    untouched<djprobe_query_many>("QUERY_MANY", -EINVAL, probe.fd(), DJPROBE_IOC_QUERY_MANY,
                                  query_many_, [](auto& request) { request.known.count = 0; });
    untouched<djprobe_query_many>("QUERY_MANY", -EINVAL, probe.fd(), DJPROBE_IOC_QUERY_MANY,
                                  query_many_,
                                  [](auto& request) { request.known.entry_size = 12; });
}

TEST_F(Refusal, OfWhatCannotBeReadWritesNothing) {
    constexpr uint64_t kNowhere = 8;
    untouched<djprobe_attach>("ATTACH", -EFAULT, device_.fd(), DJPROBE_IOC_ATTACH, attach_,
                              [](auto& request) { request.known.symbol = kNowhere; });
    untouched<djprobe_explain>("EXPLAIN", -EFAULT, device_.fd(), DJPROBE_IOC_EXPLAIN, explain_,
                               [](auto& request) { request.known.symbol = kNowhere; });
    untouched<djprobe_attach_many>("ATTACH_MANY", -EFAULT, device_.fd(), DJPROBE_IOC_ATTACH_MANY,
                                   many_, [](auto& request) { request.known.sites = kNowhere; });
    site_.symbol = kNowhere;
    untouched<djprobe_attach_many>("ATTACH_MANY", -EFAULT, device_.fd(), DJPROBE_IOC_ATTACH_MANY,
                                   many_);
}

/// No fd above those that are open can be had, until the end of this.
class NoMoreFds {
  public:
    NoMoreFds() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const int next = dup(0);  // the lowest
        close(next);
        const rlimit none = {static_cast<rlim_t>(next), before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoMoreFds() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreFds(const NoMoreFds&) = delete;
    NoMoreFds& operator=(const NoMoreFds&) = delete;

  private:
    rlimit before_ = {};
};

TEST_F(Refusal, WithoutFdsTheTextStaysAndTheSiteWorksLater) {
    const loader::Kcore memory;
    const uint64_t function = address_of(kGetpgid);
    const std::vector<uint8_t> original = memory.read(function, 32);
    {
        const NoMoreFds none;
        EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH, &attach_), -EMFILE);
        EXPECT_EQ(attach_.known.reason, static_cast<uint32_t>(DJPROBE_REASON_NONE));
        EXPECT_EQ(memory.read(function, 32), original);
        EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH_MANY, &many_), -EMFILE);
        EXPECT_EQ(many_.known.reason, static_cast<uint32_t>(DJPROBE_REASON_NONE));
        EXPECT_EQ(many_.known.failed, 1u) << "none of the sites";
        EXPECT_EQ(memory.read(function, 32), original);
    }
    const Probe probe = device_.must_attach(at(kGetpgid));
    EXPECT_NE(memory.read(function, 32), original);
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(probe.hits(), 10u);
}

}  // namespace
}  // namespace djprobe::vm
