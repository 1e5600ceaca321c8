// SPDX-License-Identifier: GPL-2.0
// DJPROBE_IOC_TEXT: the text is told as it is without our patches, and without kprobes.
#include <unistd.h>

#include <cerrno>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../../symbols.h"
#include "../harness/capability.h"
#include "../harness/fixture.h"
#include "../harness/kprobe_event.h"
#include "../harness/setting.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

using TextBytes = std::vector<uint8_t>;

class Text : public ProbeTest {
  protected:
    struct Answer {
        int error;
        TextBytes bytes;
    };
    Answer tell(uint64_t address, uint32_t length) const {
        TextBytes bytes(length, 0xab);
        djprobe_text text = {};
        text.size = sizeof text;
        text.length = length;
        text.address = address;
        text.bytes = reinterpret_cast<uintptr_t>(bytes.data());
        const int error = call_ioctl(device_.fd(), DJPROBE_IOC_TEXT, &text);
        if (!error) bytes.resize(text.length);
        return {error, bytes};
    }
    TextBytes original(uint64_t address, uint32_t length) const {
        const Answer answer = tell(address, length);
        EXPECT_EQ(answer.error, 0);
        EXPECT_EQ(answer.bytes.size(), length);
        return answer.bytes;
    }
    TextBytes live(uint64_t address, uint32_t length) const { return kcore_.read(address, length); }
    const Symbol* find(std::string_view name) const {
        for (const Symbol& symbol : symbols_.symbols())
            if (symbol.name == name && symbol.module.empty()) return &symbol;
        return nullptr;
    }
    uint64_t start_of(std::string_view name) const {
        if (const Symbol* const symbol = find(name)) return symbol->address;
        throw std::runtime_error("no symbol " + std::string(name));
    }
    /// The first site behind the function's entry, which the kernel's kprobes leave to ftrace.
    uint64_t site_inside(const char* function) const {
        for (uint64_t offset = 6;; ++offset)
            if (const Explained site = device_.explain(at(function, offset)); site.is_site())
                return site.answer.address;
    }

  private:
    const loader::Kcore kcore_;
    const Kallsyms symbols_ = Kallsyms::read();
};

constexpr uint32_t kOfEach = 200;

/// Their sites have jumps by each tactic, and some stay int3.
constexpr const char* kProbed[] = {"vfs_read", "memparse", "__sys_setfsuid", "__get_fs_type"};

TEST_F(Text, ShowsNoneOfOurPatches) {
    std::map<uint32_t, int> tactics;
    for (const char* function : kProbed) {
        if (!find(function)) continue;  // 7.3 has no __get_fs_type
        const uint64_t start = start_of(function);
        const TextBytes before = live(start, kOfEach);
        ASSERT_EQ(original(start, kOfEach), before) << function;
        for (uint64_t offset = 0; offset < kOfEach - 16; ++offset) {
            const Explained site = device_.explain(at(function, offset));
            if (!site.is_site()) continue;
            for (const djprobe_mode mode : kBothModes) {
                const Probe probe = device_.must_attach(at(function, offset, mode));
                const djprobe_query query = probe.settle();
                if (query.mechanism == DJPROBE_MECHANISM_JUMP) ++tactics[query.tactic];
                EXPECT_NE(live(start, kOfEach), before) << function << '+' << offset;
                ASSERT_EQ(original(start, kOfEach), before) << function << '+' << offset;
                // From within what the patch hides, too.
                ASSERT_EQ(original(query.address + 1, 1)[0], before[query.address + 1 - start]);
            }
        }
    }
    EXPECT_EQ(tactics.size(), 3u) << "there is a tactic that was not tried";
}

TEST_F(Text, ShowsNoKprobes) {
    const uint64_t start = start_of("vfs_read"), site = site_inside("vfs_read");
    const TextBytes before = live(start, kOfEach);
    KprobeEvent kprobe("text_other");
    ASSERT_EQ(kprobe.add(site), 0);
    ASSERT_EQ(kprobe.enable(true), 0);
    for (const bool is_jump : {false, true}) {
        // The kernel makes it a jump some time later.
        for (int i = 0; is_jump && i < 100 && live(site, 1)[0] != 0xe9; ++i)
            usleep(100'000);
        EXPECT_NE(live(start, kOfEach), before) << "there is no kprobe";
        EXPECT_EQ(original(start, kOfEach), before);
        for (uint64_t at = site; at < site + 5; ++at)
            EXPECT_EQ(original(at, 1)[0], before[at - start]) << "from within what it hides";
        const Probe probe = device_.must_attach(at("vfs_read", 0, DJPROBE_MODE_INT3));
        EXPECT_EQ(original(start, kOfEach), before);
    }
}

TEST_F(Text, ShowsTracersCallsFromTheirMiddle) {
    // The kernel leaves a kprobe at a function's entry to ftrace.
    const uint64_t start = start_of("vfs_read");
    const TextBytes before = live(start, 16);
    KprobeEvent kprobe("text_traced");
    ASSERT_EQ(kprobe.add(start), 0);
    ASSERT_EQ(kprobe.enable(true), 0);
    const TextBytes traced = live(start, 16);
    EXPECT_NE(traced, before) << "there is no call";
    for (uint64_t at = 0; at < 16; ++at)
        EXPECT_EQ(original(start + at, 1)[0], traced[at]) << at;
}

TEST_F(Text, ShowsNoKprobeOnOurJump) {
    const uint64_t start = start_of("vfs_read");
    const TextBytes before = live(start, kOfEach);
    const Probe probe = device_.must_attach(at("vfs_read"));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    KprobeEvent kprobe("text_later");
    ASSERT_EQ(kprobe.add(probe.query().address), 0);
    ASSERT_EQ(kprobe.enable(true), 0);
    EXPECT_EQ(live(probe.query().address, 1)[0], 0xcc) << "there is no kprobe";
    EXPECT_EQ(original(start, kOfEach), before);
}

TEST_F(Text, EndsWhereTheTextEnds) {
    const uint64_t end = start_of("_etext");
    EXPECT_EQ(tell(end - 16, 64).bytes.size(), 16u);
    EXPECT_EQ(tell(end - DJPROBE_TEXT_MAX, DJPROBE_TEXT_MAX).bytes.size(), DJPROBE_TEXT_MAX);
}

TEST_F(Text, IsToldOfNothingElse) {
    for (const uint64_t address :
         {uint64_t{0}, uint64_t{4096}, uint64_t{0xffff'8880'0000'1000}, ~uint64_t{0},
          start_of("__start_rodata"), start_of("_sinittext"), start_of("_etext")})
        EXPECT_EQ(tell(address, 16).error, -EACCES) << std::hex << address;
    EXPECT_EQ(tell(start_of("vfs_read"), 0).error, -EINVAL);
    EXPECT_EQ(tell(start_of("vfs_read"), DJPROBE_TEXT_MAX + 1).error, -EINVAL);
}

TEST_F(Text, IsNotForThoseWhoMayNotSeeAddresses) {
    const uint64_t start = start_of("vfs_read");
    const Setting restricted("/proc/sys/kernel/kptr_restrict", 1);
    EXPECT_EQ(tell(start, 16).error, 0);
    const Without syslog(CAP_SYSLOG);
    EXPECT_EQ(tell(start, 16).error, -EPERM);
    // Nor does the answer tell where there is text.
    EXPECT_EQ(tell(start_of("__start_rodata"), 16).error, -EPERM);
}

}  // namespace
}  // namespace djprobe::vm
