// SPDX-License-Identifier: GPL-2.0
// Every allocation of attach and detach fails once (the kernel's fault injection; the debug kernel
// has it): a clean errno, nothing patched, nothing kept.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

constexpr int kMostAllocations = 2000;

/// Lets the calling thread's nth allocation fail, once.
class FailNth {
  public:
    FailNth() {
        const std::string path =
            "/proc/self/task/" + std::to_string(syscall(SYS_gettid)) + "/fail-nth";
        file_ = Fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
    }
    explicit operator bool() const { return static_cast<bool>(file_); }
    void arm(int nth) const {
        const std::string text = std::to_string(nth);
        // A fault that no call has met yet may meet this call itself; then it is gone.
        ssize_t written = pwrite(file_.get(), text.data(), text.size(), 0);
        if (written < 0) written = pwrite(file_.get(), text.data(), text.size(), 0);
        EXPECT_GT(written, 0);
    }
    /// Whether it has come to that allocation. Afterwards nothing fails.
    bool disarm() const {
        char left[16] = {};
        const bool spent = pread(file_.get(), left, sizeof left - 1, 0) > 0 && std::stoi(left) == 0;
        arm(0);
        return spent;
    }

  private:
    Fd file_;
};

class Fault : public ProbeTest {
  protected:
    void SetUp() override {
        if (!fail_) GTEST_SKIP() << "no /proc/self/fail-nth: only the debug kernel injects faults";
    }
    /// Calls `attach` once for each of its allocations, with that one failing. How many there are.
    template <class Attach>
    int each_allocation(const Attach& attach) {
        for (int nth = 1; nth < kMostAllocations; ++nth) {
            fail_.arm(nth);
            const int error = attach();
            if (!fail_.disarm()) {
                EXPECT_EQ(error, 0) << "without a fault";
                return nth - 1;
            }
            // Some allocations may fail without harm: what they were for is done without.
            EXPECT_TRUE(error == 0 || error == -ENOMEM || error == -EFAULT || error == -ENFILE)
                << "allocation " << nth << ": errno " << -error;
            EXPECT_EQ(call_getpgid(3), 0u) << "after the failure of allocation " << nth;
        }
        ADD_FAILURE() << "too many allocations";
        return kMostAllocations;
    }

    FailNth fail_;
};

TEST_F(Fault, EachAllocationOfAttach) {
    for (const djprobe_mode mode : kBothModes) {
        const int allocations =
            each_allocation([&] { return device_.attach(at(kGetpgid, 0, mode)).error; });
        std::printf("mode %d: %d allocations failed, each once\n", mode, allocations);
        EXPECT_GT(allocations, 3);
        const Probe probe = device_.must_attach(at(kGetpgid, 0, mode));
        expect_mechanism(probe, mode);
        EXPECT_EQ(call_getpgid(10), 0u);
        EXPECT_EQ(probe.hits(), 10u);
    }
}

TEST_F(Fault, EachAllocationOfASecondProbeAndOfDetach) {
    const Probe first = device_.must_attach(at(kGetpgid));
    expect_mechanism(first, DJPROBE_MODE_AUTO);
    uint64_t calls = 0;
    const int allocations = each_allocation([&] {
        Answer answer = device_.attach(at(kGetpgid, 0, DJPROBE_MODE_INT3));
        answer.probe.detach();
        calls += 3;
        return answer.error;
    });
    std::printf("%d allocations failed, each once\n", allocations);
    expect_mechanism(first, DJPROBE_MODE_AUTO);
    EXPECT_EQ(first.hits(), calls - 3);  // the last round does not call
}

TEST_F(Fault, EachAllocationOfDetach) {
    for (int nth = 1; nth < 50; ++nth) {
        Probe probe = device_.must_attach(at(kGetpgid));
        expect_mechanism(probe, DJPROBE_MODE_AUTO);
        fail_.arm(nth);
        probe.detach();
        if (!fail_.disarm()) break;
        EXPECT_EQ(call_getpgid(3), 0u);
    }
}

TEST_F(Fault, EachAllocationOfABatch) {
    const int allocations = each_allocation([&] {
        djprobe_site sites[3] = {};
        const char* const names[] = {kGetpgid, "do_getpgid", "__x64_sys_pread64"};
        for (size_t i = 0; i < 3; ++i)
            sites[i].symbol = reinterpret_cast<uintptr_t>(names[i]);
        djprobe_attach_many many = {};
        many.size = sizeof many;
        many.sites = reinterpret_cast<uintptr_t>(sites);
        many.count = 3;
        many.prog_fd = counter();
        const Fd fd(call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH_MANY, &many));
        return fd ? 0 : -errno;
    });
    std::printf("%d allocations failed, each once\n", allocations);
    EXPECT_GT(allocations, 10);
}

TEST_F(Fault, EachAllocationOfEnabling) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    const auto enable = [&](uint32_t on) {
        djprobe_enable request = {};
        request.size = sizeof request;
        request.enable = on;
        return call_ioctl(probe.fd(), DJPROBE_IOC_ENABLE, &request);
    };
    each_allocation([&] {
        const int error = enable(0);
        return error ? error : enable(1);
    });
    ASSERT_EQ(enable(1), 0);
    const uint64_t before = probe.hits();
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(probe.hits() - before, 10u);
}

}  // namespace
}  // namespace djprobe::vm
