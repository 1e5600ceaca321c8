// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "btf_builder.h"
#include "run/link_info.h"

namespace djprobe::loader {
namespace {

// struct bpf_link_info of a kernel: with kprobe.multi and kprobes of so many bytes, 0: none.
LinkInfoSizes sizes_of(unsigned all, unsigned multi, unsigned kprobe) {
    BtfBuilder btf;
    const int word = btf.u64();
    const auto made = [&](const char* name, unsigned size) {
        const int type = btf.structure(name, size);
        for (unsigned at = 0; at < size; at += 8)
            btf.member(at ? "more" : "first", word, at);
        return type;
    };
    const int of_multi = multi ? made("", multi) : 0;
    const int of_kprobe = kprobe ? made("", kprobe) : 0;
    const int kinds = btf.structure("", kprobe);
    if (kprobe) btf.member("kprobe", of_kprobe, 0);
    const int event = btf.structure("", 8 + kprobe);
    btf.member("", kinds, 8);
    const int either = btf.structure("", all - 16);
    if (multi) btf.member("kprobe_multi", of_multi, 0);
    if (kprobe) btf.member("perf_event", event, 0);
    btf.structure("bpf_link_info", all);
    btf.member("", either, 16);
    return link_info_sizes(*btf);
}

TEST(LinkInfo, sizes_are_those_of_the_kernels_types) {
    EXPECT_EQ(sizes_of(40, 0, 0), (LinkInfoSizes{40, 0, 0}));
    EXPECT_EQ(sizes_of(56, 16, 24), (LinkInfoSizes{56, 16, 24}));
    EXPECT_EQ(sizes_of(64, 32, 40), (LinkInfoSizes{64, 32, 40}));
    // Of what a later kernel has more, nothing is known.
    EXPECT_EQ(sizes_of(96, 48, 64), (LinkInfoSizes{96, 32, 40}));
    EXPECT_EQ(link_info_sizes(*BtfBuilder()), LinkInfoSizes{});
}

using Answered = std::array<std::uint64_t, 8>;

Answered told(const LinkInfoSizes& sizes, const LinkFacts& facts, Answered asked, int error = 0) {
    const auto self = ToolTask::of(getpid());
    std::uint32_t size = sizeof asked;
    EXPECT_EQ(
        tell_link_info(*self, sizes, reinterpret_cast<std::uintptr_t>(asked.data()), size, facts),
        error);
    return asked;
}

TEST(LinkInfo, kernel_before_these_members_tells_the_head) {
    const LinkFacts facts = {7, 8, EventFacts{false, "vfs_read", 3, 4, 5, 6}};
    const Answered asked = {0, 0, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(told({64, 0, 0}, facts, asked),
              (Answered{BPF_LINK_TYPE_PERF_EVENT | std::uint64_t{7} << 32, 8}));
}

TEST(LinkInfo, member_that_an_older_kernel_lacks_stays_as_it_was) {
    const LinkFacts multi = {7, 8, MultiFacts{1, 5, {0x10}, {0x20}}};
    const std::uint64_t head = BPF_LINK_TYPE_KPROBE_MULTI | std::uint64_t{7} << 32;
    const std::uint64_t count_and_flags = 1 | std::uint64_t{1} << 32;
    EXPECT_EQ(told({64, 16, 24}, multi, {0, 0, 0, 0, 99}),
              (Answered{head, 8, 0, count_and_flags, 99}));
    EXPECT_EQ(told({64, 24, 32}, multi, {0, 0, 0, 0, 99, 98}),
              (Answered{head, 8, 0, count_and_flags, 5, 98}));
    const LinkFacts event = {7, 8, EventFacts{true, "", 3, 4, 5, 6}};
    const std::uint64_t event_head = BPF_LINK_TYPE_PERF_EVENT | std::uint64_t{7} << 32;
    const std::uint64_t length_and_offset = 1 | std::uint64_t{3} << 32;
    EXPECT_EQ(told({64, 16, 24}, event, {0, 0, 0, 0, 0, 0, 99, 98}),
              (Answered{event_head, 8, 4, 0, length_and_offset, 4, 99, 98}));
    EXPECT_EQ(told({64, 16, 40}, event, {0, 0, 0, 0, 0, 0, 99, 98}),
              (Answered{event_head, 8, 4, 0, length_and_offset, 4, 5, 6}));
}

TEST(LinkInfo, kernel_without_btf_lets_the_head_be_told) {
    const LinkFacts facts = {7, 8, MultiFacts{1, 5, {0x10}, {0x20}}};
    EXPECT_EQ(told({}, facts, {})[1], 8u);
}

}  // namespace
}  // namespace djprobe::loader
