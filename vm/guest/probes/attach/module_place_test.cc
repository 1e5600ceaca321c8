// SPDX-License-Identifier: GPL-2.0
// What a module leaves, or forbids: its text lies where another's was that took kprobes with it; it
// names functions of the kernel that take no probe. The script has brought the modules.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "../harness/fixture.h"
#include "../harness/kprobe_event.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

class ModulePlace : public ProbeTest {
  protected:
    using Bytes = std::vector<uint8_t>;
    /// A module while it is loaded.
    class Loaded {
      public:
        explicit Loaded(const std::string& name) : name_(name) {
            const Fd file(open((name + ".ko").c_str(), O_RDONLY | O_CLOEXEC));
            EXPECT_EQ(syscall(SYS_finit_module, file.get(), "", 0), 0) << name << ": " << errno;
            std::ifstream section("/sys/module/" + name + "/sections/.text");
            section >> std::hex >> text_;
        }
        ~Loaded() {
            EXPECT_EQ(syscall(SYS_delete_module, name_.c_str(), 0), 0) << name_ << ": " << errno;
        }
        Loaded(const Loaded&) = delete;
        Loaded& operator=(const Loaded&) = delete;
        uint64_t text() const { return text_; }

      private:
        const std::string name_;
        uint64_t text_ = 0;
    };
    Bytes tell(uint64_t address) const {
        Bytes bytes(4096);
        djprobe_text text = {};
        text.size = sizeof text;
        text.length = static_cast<uint32_t>(bytes.size());
        text.address = address;
        text.bytes = reinterpret_cast<uintptr_t>(bytes.data());
        EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_TEXT, &text), 0);
        bytes.resize(text.length);
        return bytes;
    }
    void try_place(const std::string& first, const std::string& later);

    /// A function's first byte may stand for its entry.
    bool is_site_itself(uint64_t address) const {
        const Explained there = device_.explain(at_address(address));
        return there.is_site() && there.answer.address == address;
    }
    /// Whether ftrace's call may be there: the nop that stands for one in a module's text.
    static bool is_call(const Bytes& bytes, size_t at) {
        static constexpr uint8_t kNop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
        return at + sizeof kNop <= bytes.size() &&
               std::equal(std::begin(kNop), std::end(kNop), bytes.begin() + static_cast<long>(at));
    }

    /// Each takes grace periods of RCU.
    static constexpr size_t kMost = 8;
    const loader::Kcore kcore_;
    int kprobes_ = 0, at_calls_ = 0;
};

void ModulePlace::try_place(const std::string& first, const std::string& later) {
    Bytes truth;
    std::vector<bool> sites;
    uint64_t text = 0;
    {
        const Loaded module(later);
        text = module.text();
        truth = tell(text);
        for (size_t i = 0; i < truth.size(); ++i)
            sites.push_back(is_site_itself(text + i));
    }
    KprobeEvent kprobes("of_" + first), calls("calls_" + first);
    {
        const Loaded module(first);
        if (module.text() != text) return;
        const Bytes others = tell(text);
        for (size_t i = 0; i < truth.size() && i < others.size(); ++i) {
            if (calls.addresses().size() < kMost && sites[i] && is_call(others, i))
                calls.add(text + i);
            if (kprobes.addresses().size() < kMost && (truth[i] == 0xe9 || truth[i] == 0xcc) &&
                others[i] != truth[i])
                kprobes.add(text + i);
        }
    }
    const Loaded module(later);
    if (module.text() != text) return;
    EXPECT_TRUE(tell(text) == truth) << first << ", then " << later;
    for (const uint64_t address : kprobes.addresses()) {
        // It is the kernel's kprobe, and has to know the new byte: it writes that back.
        device_.attach(at_address(address)).probe.detach();
        ++kprobes_;
    }
    // The kernel takes these for calls of ftrace's still, and cannot enable one more there.
    const std::set<uint64_t> on_calls = kprobes_on_calls();
    for (const uint64_t address : calls.addresses()) {
        if (!on_calls.contains(address)) continue;
        EXPECT_EQ(device_.attach(at_address(address)).reason, DJPROBE_REASON_FOREIGN_PATCH);
        ++at_calls_;
    }
    EXPECT_TRUE(tell(text) == truth) << "after probes: " << first << ", then " << later;
    EXPECT_TRUE(kcore_.read(text, static_cast<uint32_t>(truth.size())) == truth)
        << "written: " << first << ", then " << later;
}

TEST_F(ModulePlace, KprobesThatWentWithAnotherModuleHideNothing) {
    static constexpr const char* kModules[] = {"binfmt_misc", "hostile", "known"};
    for (const char* first : kModules)
        for (const char* later : kModules)
            if (first != later) try_place(first, later);
    EXPECT_GT(kprobes_, 0) << "no module has come where another was";
    EXPECT_GT(at_calls_, 0) << "no site was where another module had a call";
}

TEST_F(ModulePlace, FunctionOfTheKernelThatOneForbidsIsNoSite) {
    const Request place = at("kstrtobool_from_user");
    ASSERT_TRUE(device_.explain(place).is_site());
    {
        const Loaded module("known");
        EXPECT_EQ(device_.explain(place).answer.reason, uint32_t{DJPROBE_REASON_BLACKLISTED});
        EXPECT_EQ(device_.attach(place).reason, DJPROBE_REASON_BLACKLISTED);
    }
    EXPECT_TRUE(device_.explain(place).is_site());
}

}  // namespace
}  // namespace djprobe::vm
