// SPDX-License-Identifier: GPL-2.0
// The text map of a whole kernel, where vm/setup has put one.
#include "survey/text_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <random>
#include <string>

#include "base/unique_fd.h"
#include "survey/analysis.h"
#include "survey/survey.h"
#include "whole_kernel.h"

namespace djprobe::loader {
namespace {

/// Every line of the survey of the functions that the pattern fits.
std::string survey_of(const KernelImage& image, const TextMap& map, const std::string& pattern) {
    char path[] = "/tmp/text_map_test.XXXXXX";
    const UniqueFd fd(mkstemp(path));
    unlink(path);
    Output output(fd.get());
    SurveyScope scope;
    scope.glob = pattern;
    const Mainline mainline(image, map);
    const SurveyCounts counts = run_survey({{map, mainline}}, scope, 1, &output);
    output.print(summary_json(counts, "kernel"));
    std::string text(static_cast<std::size_t>(lseek(fd.get(), 0, SEEK_END)), 0);
    EXPECT_EQ(pread(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
}

TEST_F(WholeKernel, WhatIsDecodedForAPatternIsSurveyedAsInTheWhole) {
    KernelImage image = read_kernel();
    const TextFacts facts = read_facts(image);
    const TextMap all(image, facts);
    for (const char* pattern : {"vfs_re*", "do_sys_[a-o]*", "tcp_sendmsg*"}) {
        const std::list<Analysis> texts = analyse(image, pattern);
        ASSERT_EQ(texts.size(), 1u);
        const TextMap& near = texts.front().map;
        const auto decoded = std::ranges::count_if(
            near.functions(), [](const TextMap::Function& one) { return one.real_end != 0; });
        EXPECT_LT(decoded * 10, std::ssize(near.functions())) << pattern;
        const std::string found = survey_of(image, near, pattern);
        EXPECT_GT(found.size(), 10'000u) << pattern;
        EXPECT_EQ(found, survey_of(image, all, pattern)) << pattern;
    }
    EXPECT_TRUE(analyse(image, "no_such_*").empty());
}

TEST_F(WholeKernel, WhatIsDecodedAroundASiteDecidesAsAllDoes) {
    const KernelImage image = read_kernel();
    const TextFacts facts = read_facts(image);
    const TextMap all(image, facts);
    std::mt19937_64 random(11);
    unsigned jumps = 0;
    for (int i = 0; i < 24; ++i) {
        const std::uint64_t focus = facts.text.begin + random() % facts.text.size();
        const TextMap near(image, facts, {{focus, focus + 1}});
        for (std::uint64_t site = focus - 60; site < focus + 60; ++site) {
            const std::size_t function = all.find(site);
            if (function == all.functions().size()) continue;
            ASSERT_EQ(near.is_insn_start(site), all.is_insn_start(site)) << all.describe(site);
            x86::Plan expected, plan;
            const Refusal refusal = all.plan(function, site, expected);
            const Refusal other = near.plan(function, site, plan);
            ASSERT_EQ(static_cast<int>(other.reason), static_cast<int>(refusal.reason))
                << all.describe(site);
            if (refusal) continue;
            jumps += expected.may_jump();
            EXPECT_EQ(static_cast<int>(plan.jump.reason), static_cast<int>(expected.jump.reason))
                << all.describe(site);
            EXPECT_EQ(plan.anchor, expected.anchor) << all.describe(site);
            EXPECT_EQ(plan.board, expected.board) << all.describe(site);
        }
    }
    EXPECT_GT(jumps, 200u);
}

}  // namespace
}  // namespace djprobe::loader
