// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "run/placement.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

constexpr KprobePmu kPmu = {6, 1};
constexpr EventArguments kAllTasks = {-1, 0, -1, PERF_FLAG_FD_CLOEXEC};

perf_event_attr kprobe_attr() {
    perf_event_attr attr = {};
    attr.type = kPmu.type;
    attr.size = sizeof attr;
    attr.config1 = 0x1000;
    return attr;
}

template <class Struct>
std::vector<std::byte> bytes_of(const Struct& value, std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &value, std::min(size, sizeof value));
    return bytes;
}

std::string reason_with(const std::function<void(perf_event_attr&, EventArguments&)>& change) {
    perf_event_attr attr = kprobe_attr();
    EventArguments arguments = kAllTasks;
    change(attr, arguments);
    const Decision decision = decide_event(attr, arguments, kPmu);
    EXPECT_EQ(decision.side == Side::kKernel, !decision.reason.empty());
    return std::string(decision.reason);
}

TEST(RunPlacement, what_libbpf_bcc_and_cilium_ask_for_is_ours) {
    EXPECT_EQ(decide_event(kprobe_attr(), kAllTasks, kPmu).side, Side::kOurs);
    EXPECT_EQ(reason_with([](auto& attr, auto&) { attr.config = kPmu.return_bit; }), "");
    EXPECT_EQ(reason_with([](auto& attr, auto&) { attr.config2 = 12; }), "");
    EXPECT_EQ(reason_with([](auto& attr, auto&) { attr.sample_period = attr.wakeup_events = 1; }),
              "");
    EXPECT_EQ(reason_with([](auto& attr, auto&) { attr.disabled = 1; }), "");
    EXPECT_EQ(reason_with([](auto&, auto& arguments) { arguments.flags = 0; }), "");
}

TEST(RunPlacement, other_events_are_nobodys_probes) {
    perf_event_attr attr = kprobe_attr();
    attr.type = PERF_TYPE_TRACEPOINT;
    EXPECT_EQ(decide_event(attr, kAllTasks, kPmu), Decision{Side::kOther});
    EXPECT_EQ(decide_event(kprobe_attr(), kAllTasks, std::nullopt), Decision{Side::kOther});
}

TEST(RunPlacement, what_asks_for_more_is_the_kernels) {
    EXPECT_EQ(reason_with([](auto&, auto& arguments) { arguments.pid = 7; }), "one-task");
    EXPECT_EQ(reason_with([](auto&, auto& arguments) { arguments.cpu = 1; }), "one-cpu");
    EXPECT_EQ(reason_with([](auto&, auto& arguments) { arguments.cpu = -1; }), "one-cpu");
    EXPECT_EQ(reason_with([](auto&, auto& arguments) { arguments.group = 3; }), "event-group");
    EXPECT_EQ(reason_with([](auto&, auto& arguments) { arguments.flags |= PERF_FLAG_PID_CGROUP; }),
              "unknown-flags");
    EXPECT_EQ(reason_with([](auto& attr, auto&) { attr.config = 2; }), "unknown-config");
    EXPECT_EQ(reason_with([](auto& attr, auto&) { attr.config = attr.config2 = 1; }),
              "return-at-offset");
    const std::vector<std::function<void(perf_event_attr&)>> options = {
        [](auto& attr) { attr.sample_type = PERF_SAMPLE_RAW; },
        [](auto& attr) { attr.read_format = PERF_FORMAT_ID; },
        [](auto& attr) { attr.sample_period = 2; },
        [](auto& attr) { attr.inherit = 1; },
        [](auto& attr) { attr.exclude_user = 1; },
        [](auto& attr) { attr.sigtrap = 1; },
        [](auto& attr) { attr.sig_data = 1; },
    };
    for (const auto& option : options)
        EXPECT_EQ(reason_with([&](auto& attr, auto&) { option(attr); }), "event-options");
}

TEST(RunPlacement, a_struct_is_read_as_the_kernel_reads_it) {
    perf_event_attr attr = kprobe_attr();
    const auto shorter = parse_attr(bytes_of(attr, PERF_ATTR_SIZE_VER0));
    ASSERT_TRUE(shorter);
    EXPECT_EQ(shorter->config1, attr.config1);
    auto longer = bytes_of(attr, sizeof attr + 16);
    EXPECT_TRUE(parse_attr(longer));
    longer.back() = std::byte{1};
    EXPECT_FALSE(parse_attr(longer)) << "the kernel says E2BIG";
}

LinkAttributes multi_link() {
    LinkAttributes link = {};
    link.attach_type = BPF_TRACE_KPROBE_MULTI;
    link.multi.count = 2;
    link.multi.symbols = 0x1000;
    return link;
}

Decision multi_with(const std::function<void(LinkAttributes&)>& change) {
    LinkAttributes link = multi_link();
    change(link);
    return decide_link(link);
}

TEST(RunPlacement, links_of_kprobe_multi_are_ours) {
    EXPECT_EQ(multi_with([](auto&) {}), Decision{Side::kOurs});
    EXPECT_EQ(multi_with([](auto& link) {
                  link.multi.addresses = std::exchange(link.multi.symbols, 0);
                  link.multi.flags = BPF_F_KPROBE_MULTI_RETURN;
                  link.multi.cookies = 0x2000;
              }),
              Decision{Side::kOurs});
    for (const auto& odd : std::vector<std::function<void(LinkAttributes&)>>{
             [](auto& link) { link.multi.count = 0; },
             [](auto& link) { link.multi.count = 1u << 20; },
             [](auto& link) { link.multi.symbols = 0; },
             [](auto& link) { link.multi.addresses = 1; },
             [](auto& link) { link.multi.flags = 2; },
             [](auto& link) { link.flags = 1; },
             [](auto& link) { link.target_fd = 3; },
         })
        EXPECT_EQ(multi_with(odd).side, Side::kKernel);
}

TEST(RunPlacement, a_session_is_the_kernels) {
    EXPECT_EQ(multi_with([](auto& link) { link.attach_type = kKprobeSession; }),
              (Decision{Side::kKernel, "session"}));
}

TEST(RunPlacement, links_of_other_kinds_or_on_other_events_are_not) {
    LinkAttributes link = {};
    link.attach_type = BPF_PERF_EVENT;
    link.cookie = 5;
    EXPECT_EQ(decide_link(link), Decision{Side::kOther});
    link.attach_type = BPF_TRACE_FENTRY;
    EXPECT_EQ(decide_link(link), Decision{Side::kOther});
}

TEST(RunPlacement, link_on_an_event_has_descriptors_type_and_cookie) {
    std::vector<std::byte> bytes(64);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = std::byte{1};
        const bool known = i < offsetof(LinkAttributes, flags) ||
                           (i >= offsetof(LinkAttributes, cookie) &&
                            i < offsetof(LinkAttributes, cookie) + sizeof(std::uint64_t));
        EXPECT_EQ(is_odd_link(bytes), !known) << i;
        bytes[i] = {};
    }
    EXPECT_FALSE(is_odd_link(std::span(bytes).first(8)));
}

TEST(RunPlacement, the_pmu_is_as_sysfs_says) {
    const Files files;
    const auto folder = files.path() / "kprobe";
    EXPECT_FALSE(find_kprobe_pmu(folder.string()));
    std::filesystem::create_directories(folder / "format");
    std::ofstream(folder / "type") << "8\n";
    std::ofstream(folder / "format" / "retprobe") << "config:3\n";
    const auto pmu = find_kprobe_pmu(folder.string());
    ASSERT_TRUE(pmu);
    EXPECT_EQ(pmu->type, 8U);
    EXPECT_EQ(pmu->return_bit, 8U);
}

}  // namespace
}  // namespace djprobe::loader
