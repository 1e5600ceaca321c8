// SPDX-License-Identifier: GPL-2.0
#include "kmod/linux_names/fragile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::kText;
using test::view;
using testing::UnorderedElementsAre;

/// A kernel of functions that lie kDistance apart, in the order in which they are first named.
class Kernel {
  public:
    static constexpr u64 kDistance = 0x40;

    u64 address(const std::string& name) {
        const auto [at, is_new] = places_.try_emplace(name, kText + places_.size() * kDistance);
        if (is_new) code_[at->second] = {0xc3};
        names_[at->second] = name;
        return at->second;
    }
    /// Append to a function: a call or a jump to another one, or code as it is.
    Kernel& call(const std::string& name, const std::string& callee) {
        return branch(0xe8, name, callee);
    }
    Kernel& jump(const std::string& name, const std::string& target) {
        return branch(0xe9, name, target);
    }
    Kernel& code(const std::string& name, const Bytes& bytes) {
        Bytes& body = code_[address(name)];
        body.insert(body.end() - 1, bytes.begin(), bytes.end());
        return *this;
    }
    Kernel& has(const std::string& name) {
        address(name);
        return *this;
    }

    // What find_fragile() asks.
    size_t addresses_of(const char* name, Span<u64> out) const {
        const auto found = places_.find(name);
        if (found == places_.end()) return 0;
        out[0] = found->second;
        return 1;
    }
    bool start_of(u64 address, u64& start) const {
        const auto next = code_.upper_bound(address);
        if (next == code_.begin() || address >= std::prev(next)->first + kDistance) return false;
        start = std::prev(next)->first;
        return true;
    }
    bool function_at(u64 address, Code& out) const {
        u64 start;
        if (!start_of(address, start)) return false;
        out = {start, view(code_.at(start))};
        return true;
    }
    const char* name_of(u64 address) const { return names_.at(address).c_str(); }

    struct Found {
        Refusal refusal;
        std::vector<std::string> names;  ///< of the functions that the ranges begin with
        std::string lacking, unmarked;
    };
    Found find(std::vector<djprobe_root> roots) const {
        const auto text = std::make_unique<FragileText>();
        Found found;
        found.refusal =
            find_fragile(*this, Span<const djprobe_root>{roots.data(), roots.size()}, *text);
        if (text->lacking) found.lacking = text->lacking->name;
        if (text->unmarked) found.unmarked = text->unmarked->name;
        for (size_t i = 0; i < text->count; ++i)
            found.names.emplace_back(name_of(text->ranges[i].begin));
        return found;
    }

  private:
    Kernel& branch(u8 opcode, const std::string& from, const std::string& to) {
        const u64 target = address(to), begin = address(from);
        const u64 end = begin + code_[begin].size() - 1 + 5;
        const u32 distance = static_cast<u32>(target - end);
        Bytes bytes = {opcode};
        for (int shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<u8>(distance >> shift));
        return code(from, bytes);
    }

    std::map<std::string, u64> places_;
    std::map<u64, std::string> names_;
    std::map<u64, Bytes> code_;
};

djprobe_root root(const char* name, djprobe_walk walk = DJPROBE_ALL, const char* mark = "",
                  const char* mark2 = "") {
    return {name, DJPROBE_ALWAYS, "", walk, {mark, mark2}};
}

TEST(FragileTest, CalleesOfCalleesAreFound) {
    Kernel kernel;
    kernel.call("up", "middle").call("middle", "deep").has("other");
    EXPECT_THAT(kernel.find({root("up")}).names, UnorderedElementsAre("up", "middle", "deep"));
}

TEST(FragileTest, OfAFunctionByItselfItsCalleesAreNot) {
    Kernel kernel;
    kernel.call("up", "middle");
    EXPECT_THAT(kernel.find({root("up", DJPROBE_ITSELF)}).names, UnorderedElementsAre("up"));
}

TEST(FragileTest, CallsBeforeTheMarkCount) {
    Kernel kernel;
    kernel.call("up", "early").call("early", "deep").call("up", "mark").call("up", "late");
    EXPECT_THAT(kernel.find({root("up", DJPROBE_UNTIL, "absent", "mark")}).names,
                UnorderedElementsAre("up", "early", "deep"));
}

TEST(FragileTest, CallsSinceTheMarkCount) {
    Kernel kernel;
    kernel.call("down", "early").call("down", "mark").call("down", "late").jump("down", "tail");
    EXPECT_THAT(kernel.find({root("down", DJPROBE_SINCE, "mark")}).names,
                UnorderedElementsAre("down", "late", "tail"));
}

// A compiler puts what is unlikely behind the end, to jump there and back.
TEST(FragileTest, WhatLiesBehindTheMarkAndRunsBeforeItCounts) {
    Kernel kernel;
    // jz behind the ret; call mark; call late; jmp to the end; call unlikely; jmp back
    kernel.code("up", {0x74, 12}).call("up", "mark").call("up", "late").code("up", {0xeb, 7});
    kernel.call("up", "unlikely").code("up", {0xeb, 0xef - 2});
    EXPECT_THAT(kernel.find({root("up", DJPROBE_UNTIL, "mark")}).names,
                UnorderedElementsAre("up", "unlikely"));
}

// Behind a jump label, which is a nop while it is off.
TEST(FragileTest, WhatNothingSeemsToReachCountsAsBefore) {
    Kernel kernel;
    kernel.call("up", "mark").code("up", {0xc3}).call("up", "labelled");
    EXPECT_THAT(kernel.find({root("up", DJPROBE_UNTIL, "mark")}).names,
                UnorderedElementsAre("up", "labelled"));
}

TEST(FragileTest, AFunctionThatCallsNoneOfItsMarksIsRefusedByName) {
    Kernel kernel;
    kernel.call("up", "late").has("mark");
    const auto found = kernel.find({root("up", DJPROBE_UNTIL, "mark", "absent")});
    EXPECT_EQ(found.refusal.reason, Reason::NO_SUCH_SYMBOL);
    EXPECT_EQ(found.unmarked, "up");
}

TEST(FragileTest, FormsOfARootStandForIt) {
    for (const char* form : {"__pi_up", "up.part.0", "up.constprop.0", "up.isra.0"}) {
        Kernel kernel;
        kernel.call(form, "deep");
        const auto found = kernel.find({root("up")});
        EXPECT_EQ(found.refusal, Refusal()) << form;
        EXPECT_THAT(found.names, UnorderedElementsAre(form, "deep"));
    }
}

TEST(FragileTest, APartComesWithItsFunctionButIsNone) {
    Kernel kernel;
    kernel.has("up").has("up.cold");
    EXPECT_THAT(kernel.find({root("up", DJPROBE_ITSELF)}).names,
                UnorderedElementsAre("up", "up.cold"));
    Kernel without;
    without.has("up.cold");
    EXPECT_EQ(without.find({root("up")}).lacking, "up");
}

// On 7.2 the boot code calls __pi_startup_64_load_idt.
TEST(FragileTest, ACalleeNeedsNoName) {
    Kernel kernel;
    kernel.call("secondary_startup_64", "early_setup_idt");
    kernel.call("early_setup_idt", "__pi_startup_64_load_idt");
    EXPECT_THAT(kernel.find({root("secondary_startup_64")}).names,
                testing::Contains("__pi_startup_64_load_idt"));
}

TEST(FragileTest, OfALeafTheCalleesAreNotAndSomeAreNoMembers) {
    Kernel kernel;
    kernel.call("up", "_printk").call("_printk", "deep");
    kernel.call("up", "panic").call("panic", "deeper");
    EXPECT_THAT(kernel.find({root("up")}).names, UnorderedElementsAre("up", "_printk"));
}

// On 7.3 the microcode's checksum leads into the FPU's code, which leads to all softirqs.
TEST(FragileTest, SomeAreNoMembersWhereTheKernelSaysSo) {
    Kernel kernel;
    kernel.call("up", "sha256").call("sha256", "kernel_fpu_end").call("kernel_fpu_end", "softirq");
    EXPECT_THAT(kernel.find({root("up")}).names,
                UnorderedElementsAre("up", "sha256", "kernel_fpu_end", "softirq"));
    EXPECT_THAT(kernel.has("kernel_fpu_allowed").find({root("up")}).names,
                UnorderedElementsAre("up", "sha256"));
}

TEST(FragileTest, ARangeEndsAtItsMark) {
    Kernel kernel;
    const u64 begin = kernel.address("up"), end = kernel.has("within").address("end");
    const djprobe_root range[] = {root("up", DJPROBE_RANGE, "end")};
    const auto text = std::make_unique<FragileText>();
    EXPECT_EQ(find_fragile(kernel, Span<const djprobe_root>{range, 1}, *text), Refusal());
    EXPECT_EQ(text->ranges[0].begin, begin);
    EXPECT_EQ(text->ranges[0].end, end);
}

TEST(RootsTest, WhatEveryKernelHasMustBeThere) {
    Kernel kernel;
    EXPECT_EQ(kernel.find({root("up")}).refusal.reason, Reason::NO_SUCH_SYMBOL);
    EXPECT_EQ(kernel.find({root("up")}).lacking, "up");
}

TEST(RootsTest, WhatBelongsToAFeatureMustBeThereWithIt) {
    const djprobe_root needed = {"up", DJPROBE_WITH, "feature", DJPROBE_ALL, {"", ""}};
    Kernel kernel;
    EXPECT_EQ(kernel.find({needed}).refusal, Refusal());
    EXPECT_EQ(kernel.has("feature").find({needed}).lacking, "up");
    EXPECT_EQ(kernel.has("up").find({needed}).refusal, Refusal());
}

TEST(RootsTest, OneOfThoseThatStandForEachOtherMustBeThere) {
    const djprobe_root one = {"one", DJPROBE_ONE_OF, "way", DJPROBE_ALL, {"", ""}};
    const djprobe_root other = {"other", DJPROBE_ONE_OF, "way", DJPROBE_ALL, {"", ""}};
    const djprobe_root alien = {"alien", DJPROBE_ONE_OF, "another way", DJPROBE_ALL, {"", ""}};
    Kernel kernel;
    kernel.has("other");
    EXPECT_EQ(kernel.find({one, other}).refusal, Refusal());
    EXPECT_EQ(kernel.find({one}).lacking, "one");
    EXPECT_EQ(kernel.find({one, other, alien}).lacking, "alien");
}

TEST(RootsTest, WhatAKernelMayLackMayBeMissing) {
    const djprobe_root perhaps = {"up", DJPROBE_PERHAPS, "of a driver", DJPROBE_ALL, {"", ""}};
    Kernel kernel;
    EXPECT_EQ(kernel.find({perhaps}).refusal, Refusal());
    EXPECT_THAT(kernel.has("up").find({perhaps}).names, UnorderedElementsAre("up"));
}

}  // namespace
}  // namespace djprobe::x86
