// SPDX-License-Identifier: GPL-2.0
// Sites in a module that goes away. The script has loaded binfmt_misc and mounted its file system.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

constexpr const char* kModule = "binfmt_misc";
constexpr const char* kFunction = "binfmt_misc:bm_status_read";
constexpr const char* kFolder = "/tmp/binfmt";

class Module : public ProbeTest {
  protected:
    void SetUp() override { load(); }
    void TearDown() override {
        if (loaded_) unload();
    }
    void load() {
        const Fd file(open("binfmt_misc.ko", O_RDONLY | O_CLOEXEC));
        ASSERT_EQ(syscall(SYS_finit_module, file.get(), "", 0), 0) << errno;
        mkdir(kFolder, 0755);
        ASSERT_EQ(mount("none", kFolder, kModule, 0, nullptr), 0) << errno;
        loaded_ = true;
    }
    void unload() {
        ASSERT_EQ(umount(kFolder), 0) << errno;
        ASSERT_EQ(syscall(SYS_delete_module, kModule, 0), 0) << errno;
        loaded_ = false;
    }
    /// Each read of the file enters the function.
    static void read_status(int count) {
        const Fd file(open("/tmp/binfmt/status", O_RDONLY | O_CLOEXEC));
        ASSERT_TRUE(file);
        char text[8];
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(pread(file.get(), text, sizeof text, 0), 8);
    }

  private:
    bool loaded_ = false;
};

TEST_F(Module, CallsAreCounted) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe probe = device_.must_attach(at(kFunction, 0, mode));
        expect_mechanism(probe, mode);
        read_status(500);
        const djprobe_query query = probe.query();
        EXPECT_EQ(query.hits, 500u);
        EXPECT_STREQ(query.module, kModule);
        EXPECT_STREQ(query.symbol, "bm_status_read");
        EXPECT_EQ(query.address - query.offset, address_of("bm_status_read", kModule));
    }
    // Where the kernel has no such function, the name alone will do.
    EXPECT_EQ(device_.attach(at("bm_status_read")).error, 0);
}

// A probe does not hold its target: the user's rmmod comes first.
TEST_F(Module, ItMayGoWhileItIsProbed) {
    for (const djprobe_mode mode : kBothModes) {
        Probe probe = device_.must_attach(at(kFunction, 0, mode));
        Probe second = device_.must_attach(at(kFunction, 0, mode));
        expect_mechanism(probe, mode);
        read_status(20);
        unload();
        for (const Probe* gone : {&probe, &second}) {
            const djprobe_query query = gone->query();
            EXPECT_EQ(query.state, static_cast<uint32_t>(DJPROBE_STATE_GONE));
            EXPECT_EQ(query.mechanism, static_cast<uint32_t>(DJPROBE_MECHANISM_NONE));
            EXPECT_EQ(query.hits, 20u);
        }
        EXPECT_EQ(device_.attach(at(kFunction)).error, -ENOENT);
        second.detach();
        load();
        // The new one has its own text, though perhaps at the same address.
        read_status(20);
        const djprobe_query after = probe.query();
        EXPECT_EQ(after.state, static_cast<uint32_t>(DJPROBE_STATE_GONE));
        EXPECT_STREQ(after.symbol, "");
        EXPECT_EQ(probe.hits(), 20u);
        const Probe fresh = device_.must_attach(at(kFunction, 0, mode));
        expect_mechanism(fresh, mode);
        read_status(20);
        EXPECT_EQ(fresh.hits(), 20u);
        probe.detach();
        read_status(20);
        EXPECT_EQ(fresh.hits(), 40u);
    }
}

// Kernel commit 325f3fb551f8: a module was freed while its kprobe was on the optimizer's list.
TEST_F(Module, ItMayGoWhileTheJumpIsComing) {
    for (int round = 0; round < 10; ++round) {
        const Probe probe = device_.must_attach(at(kFunction));
        usleep(static_cast<useconds_t>(round * 20'000));
        unload();
        EXPECT_EQ(probe.settle().state, static_cast<uint32_t>(DJPROBE_STATE_GONE));
        load();
    }
}

TEST_F(Module, WhatStillRunsOfALeavingOneIsItsOwnAgain) {
    // Kernel: delete_module() waits for asynchronous functions after it has told of the module's
    // end.
    for (const djprobe_mode mode : kBothModes) {
        const Fd file(open("hostile.ko", O_RDONLY | O_CLOEXEC));
        ASSERT_EQ(syscall(SYS_finit_module, file.get(), "late=1", 0), 0) << errno;
        const Probe probe = device_.must_attach(at("hostile:hostile_late", 0, mode));
        expect_mechanism(probe, mode);
        ASSERT_EQ(syscall(SYS_delete_module, "hostile", 0), 0) << errno;
        EXPECT_EQ(probe.query().state, static_cast<uint32_t>(DJPROBE_STATE_GONE));
    }
}

}  // namespace
}  // namespace djprobe::vm
