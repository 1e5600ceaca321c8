// SPDX-License-Identifier: GPL-2.0
// The ioctls under lockdown `confidentiality`, for a probe that another process attached before.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

/// The first probe fd of another process.
Fd borrow_probe() {
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
        const int pid = std::atoi(process.path().filename().c_str());
        if (!pid || pid == getpid()) continue;
        std::error_code ignored;
        for (const auto& fd : std::filesystem::directory_iterator(process.path() / "fd", ignored)) {
            if (std::filesystem::read_symlink(fd, ignored) != "anon_inode:[djprobe]") continue;
            const Fd opened(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
            return Fd(static_cast<int>(syscall(SYS_pidfd_getfd, opened.get(),
                                               std::atoi(fd.path().filename().c_str()), 0)));
        }
    }
    return Fd();
}

// No fixture: a BPF object may not be loadable any more.
TEST(Lockdown, DISABLED_NothingIsToldOfTextAndNothingIsPutThere) {
    const Device device;
    Request request;
    for (const char* symbol : {kGetpgid, "vfs_read"}) {
        request.symbol = symbol;
        const Explained explained = device.explain(request);
        EXPECT_EQ(explained.error, -EPERM);
        djprobe_explain expected = {};
        expected.size = sizeof expected;
        expected.symbol = explained.answer.symbol;
        expected.reason = DJPROBE_REASON_LOCKDOWN;
        EXPECT_EQ(std::memcmp(&explained.answer, &expected, sizeof expected), 0);
    }

    const Probe probe(borrow_probe());
    ASSERT_TRUE(probe);
    const djprobe_query query = probe.query(), empty = {};
    EXPECT_NE(query.address, 0u) << "kptr_restrict is another matter";
    EXPECT_GT(query.displaced_len + query.hits, 0u);
    EXPECT_EQ(std::memcmp(query.displaced, empty.displaced, sizeof empty.displaced), 0);

    EXPECT_EQ(probe.enable(false), 0) << "taking away is always allowed";
    djprobe_enable answer = {};
    EXPECT_EQ(probe.enable(true, &answer), -EPERM);
    EXPECT_EQ(answer.reason, uint32_t{DJPROBE_REASON_LOCKDOWN});
    EXPECT_EQ(answer.failed, probe.total().count) << "none of them is at fault";
}

}  // namespace
}  // namespace djprobe::vm
