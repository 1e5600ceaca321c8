// SPDX-License-Identifier: GPL-2.0
// The text map of a whole kernel, where vm/setup has put one.
#include "survey/text_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <random>
#include <string>

#include "base/temp_dir.h"
#include "base/unique_fd.h"
#include "survey/analysis.h"
#include "survey/stand_in.h"
#include "survey/survey.h"

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

/// Its vmlinux, with the symbols that it holds of itself.
KernelImage read_kernel() {
    const std::string vmlinux = kKernel + "/vmlinux";
    TempDir directory;  // ctest runs several of these tests at once
    const std::string symbols = directory.file("kallsyms");
    EXPECT_EQ(std::system((kSymbolTool + " " + vmlinux + " >" + symbols).c_str()), 0);
    return KernelImage::from_file(vmlinux, symbols);
}

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

// Straight on from one to the other, and control arrives nowhere between.
void expect_straight(const TextMap& map, std::uint64_t from, std::uint64_t to) {
    const std::size_t function = map.find(from);
    ASSERT_EQ(function, map.find(to));
    EXPECT_TRUE(map.arrivals({from + 1, to + 1}).empty()) << map.describe(from);
    std::uint64_t at = from;
    while (at < to) {
        x86::Insn insn;
        ASSERT_TRUE(x86::decode(map.functions()[function].code.from(at), at, insn));
        ASSERT_TRUE(insn.kind == x86::Kind::Plain || insn.kind == x86::Kind::Nop)
            << map.describe(at);
        at = insn.end();
    }
    EXPECT_EQ(at, to) << map.describe(from);
}

TEST_F(WholeKernel, WhatStandsInForALabelRunsAsOften) {
    const KernelImage image = read_kernel();
    const TextFacts facts = read_facts(image);
    const TextMap map(image, facts);
    unsigned before = 0, behind = 0;
    for (const x86::Reserved& owned : facts.reserved) {
        const std::uint64_t label = owned.range.begin;
        const std::size_t function = map.find(label);
        if (owned.reason != Reason::JUMP_LABEL || function == map.functions().size()) continue;
        const std::vector<StandIn> found = stand_ins(map, function, label);
        if (found.size() == 1 && found.front().address < label) {
            expect_straight(map, found.front().address, label);
            ++before;
        } else if (found.size() == 2) {
            // The one that falls through, and the target, which nothing else leads to.
            EXPECT_EQ(found[0].address, owned.range.end);
            EXPECT_TRUE(map.arrivals({owned.range.end, owned.range.end + 1}).empty());
            for (const x86::Landing& one : map.arrivals({found[1].address, found[1].address + 1}))
                EXPECT_EQ(one.source, label) << map.describe(label);
            EXPECT_EQ(found[0].writes | found[1].writes, 0);
            ++behind;
        }
    }
    EXPECT_GT(before, 500u);
    EXPECT_GT(behind, 500u);
}

TEST_F(WholeKernel, WhatStandsInForAnEndbrIsTheEntry) {
    const KernelImage image = read_kernel();
    const TextFacts facts = read_facts(image);
    const TextMap map(image, facts);
    const std::uint64_t address = image.require("vfs_read");
    const std::size_t function = map.find(address);
    const std::vector<StandIn> found = stand_ins(map, function, address);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.front().address, map.entry(function));
    EXPECT_EQ(found.front().writes, 0);
}

}  // namespace
}  // namespace djprobe::loader
