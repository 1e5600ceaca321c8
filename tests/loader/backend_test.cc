// SPDX-License-Identifier: GPL-2.0
// Who carries the probes where djprobe does not, and what is told of them.
#include "session/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "kernel/traceable.h"
#include "metrics/families.h"
#include "session/kernel_probes.h"

namespace djprobe::loader {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Backend, kernel_has_no_sessions) {
    EXPECT_FALSE(open_device(Backend::kKernel, false));
    EXPECT_THAT(expect_error(ExitCode::kUsage, [] { (void)open_device(Backend::kKernel, true); }),
                HasSubstr("--backend kernel: "));
}

TEST(Backend, mode_that_the_kernel_does_not_take_is_not_passed_over_in_silence) {
    const auto said = [](Backend backend, djprobe_mode mode) {
        testing::internal::CaptureStderr();
        note_no_module(backend, mode, {"/nothing", "/nothing"});
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_THAT(said(Backend::kAuto, DJPROBE_MODE_INT3), HasSubstr("probeload: int3 only: "));
    EXPECT_THAT(said(Backend::kKernel, DJPROBE_MODE_INT3), HasSubstr("probeload: int3 only: "));
    EXPECT_EQ(said(Backend::kKernel, DJPROBE_MODE_AUTO), "");
}

TEST(Backend, device_that_this_dev_does_not_show_is_told_from_a_module_that_is_not_loaded) {
    const auto said = [](const char* module) {
        testing::internal::CaptureStderr();
        note_no_module(Backend::kAuto, DJPROBE_MODE_AUTO, {module, "/nothing"});
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_THAT(said("/nothing"), HasSubstr("djprobe is not loaded: the kernel's own probes"));
    EXPECT_THAT(said("/"), HasSubstr("is loaded, but not in this /dev: the kernel's own probes"));
}

TEST(Backend, kernel_without_probes_of_its_own_is_not_said_to_serve) {
    EXPECT_TRUE(has_no_kprobes({.event_sources = "/"}));
    EXPECT_FALSE(has_no_kprobes({.event_sources = "/nothing"}));
    testing::internal::CaptureStderr();
    note_no_module(Backend::kAuto, DJPROBE_MODE_AUTO, {"/nothing", "/"});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Backend, takes_no_place_that_traps_on_each_trap) {
    EXPECT_TRUE(is_safe_for_kprobe(DJPROBE_REASON_FTRACE_SITE));
    EXPECT_TRUE(is_safe_for_kprobe(DJPROBE_REASON_EXTABLE_INSN));
    EXPECT_FALSE(is_safe_for_kprobe(DJPROBE_REASON_TRAP_PATH));
    EXPECT_FALSE(is_safe_for_kprobe(DJPROBE_REASON_BLACKLISTED));
}

TEST(KernelReport, hits_that_are_not_counted_are_no_number) {
    KernelReport report{"on_hit", "vfs_read, vfs_write", "kprobe", false, 2, 7, 1};
    EXPECT_EQ(kernel_report_text(report), "vfs_read, vfs_write: hits 7, missed 1, by kprobe\n");
    EXPECT_EQ(kernel_report_json(report)["hits"], 7);
    report.hits.reset();
    EXPECT_EQ(kernel_report_text(report),
              "vfs_read, vfs_write: hits not counted, missed 1, by kprobe\n");
    EXPECT_TRUE(kernel_report_json(report)["hits"].is_null());
}

TEST(KernelReport, is_in_the_metrics) {
    Summary summary;
    summary.kernel.push_back({"on_hit", "3 functions like 'a*'", "kretprobe.multi", true, 3, 7, 1});
    const auto families = metric_families(summary);
    ASSERT_EQ(families.size(), 3U);
    EXPECT_EQ(families[0].metric.front().counter.value, 7);
    EXPECT_EQ(families[0].metric.front().label[2].value, "return");
    EXPECT_EQ(families[1].metric.front().counter.value, 1);
    EXPECT_EQ(families[2].metric.front().gauge.value, 3);
}

TEST(Traceable, leaves_out_names_of_which_not_all_can_be_watched) {
    const std::vector<Symbol> functions = {
        {1, "once", "", 't'}, {2, "twice", "", 't'},    {3, "twice", "", 't'}, {4, "both", "", 't'},
        {5, "both", "", 't'}, {6, "once", "ext4", 't'}, {7, "never", "", 't'}};
    EXPECT_THAT(traceable_of(functions, "once\ntwice\nboth\nboth\nonce [ext4]\n"),
                ElementsAre(1, 4, 5, 6));
}

}  // namespace
}  // namespace djprobe::loader
