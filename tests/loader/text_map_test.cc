// SPDX-License-Identifier: GPL-2.0
// The text map of a whole kernel, where vm/setup has put one.
#include "survey/text_map.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

namespace djprobe::loader {
namespace {

const std::string kKernel = DJPROBE_KERNEL;
/// Prints the symbols that a kernel holds of itself.
const std::string kSymbolTool = DJPROBE_SYMBOL_TOOL;

class WholeKernel : public testing::Test {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(kKernel + "/vmlinux")) GTEST_SKIP() << "no " << kKernel;
    }
};

TEST_F(WholeKernel, WhatIsDecodedAroundASiteDecidesAsAllDoes) {
    const std::string vmlinux = kKernel + "/vmlinux";
    const std::string symbols = testing::TempDir() + "text_map_test.kallsyms";
    ASSERT_EQ(std::system((kSymbolTool + " " + vmlinux + " >" + symbols).c_str()), 0);
    const KernelImage image = KernelImage::from_file(vmlinux, symbols);
    std::filesystem::remove(symbols);
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
