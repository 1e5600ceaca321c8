// SPDX-License-Identifier: GPL-2.0
// The survey of a kernel of a few functions, see tiny_kernel.S.
#include "survey/survey.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/stop_signals.h"
#include "base/unique_fd.h"
#include "kernel/reason.h"
#include "survey/analysis.h"
#include "survey/explain.h"

namespace djprobe::loader {
namespace {

using Means = MainlineVerdict::Kind;

class SurveyTest : public testing::Test {
  protected:
    SurveyTest()
        : image_(KernelImage::from_file(DJPROBE_TINY_KERNEL, "")),
          facts_(read_facts(image_)),
          map_(image_, facts_),
          mainline_(image_, map_),
          symbolizer_(image_.symbols()) {}

    std::uint64_t at(const char* name, std::uint64_t offset = 0) {
        return image_.address_of(name).value() + offset;
    }
    Explanation explain(const char* name, std::uint64_t offset) {
        const std::uint64_t site = at(name, offset);
        return explain_site(map_, mainline_, symbolizer_, map_.find(site), site);
    }
    djprobe::Reason refusal(const char* name, std::uint64_t offset = 0) {
        return explain(name, offset).refusal.reason;
    }
    djprobe::Reason jump(const char* name, std::uint64_t offset = 0) {
        const Explanation e = explain(name, offset);
        EXPECT_FALSE(e.refusal) << e.reason;
        return e.plan.jump.reason;
    }
    std::string lines(unsigned threads, SurveyScope scope = {}) {
        char path[] = "/tmp/survey_test.XXXXXX";
        const UniqueFd fd(mkstemp(path));
        unlink(path);
        Output output(fd.get());
        run_survey({{map_, mainline_}}, scope, threads, &output);
        output.flush();
        std::string text(static_cast<std::size_t>(lseek(fd.get(), 0, SEEK_END)), 0);
        EXPECT_EQ(pread(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        return text;
    }
    SurveyCounts count(const SurveyScope& scope) {
        return run_survey({{map_, mainline_}}, scope, 1, nullptr);
    }

    KernelImage image_;
    TextFacts facts_;
    TextMap map_;
    Mainline mainline_;
    Symbolizer symbolizer_;
};

TEST_F(SurveyTest, AStopEndsTheAnalysis) {
    const StopSignals stop;
    const TextMap goes_on(image_, facts_, {}, &stop);
    raise(SIGTERM);
    EXPECT_THROW(TextMap(image_, facts_, {}, &stop), Error);
    EXPECT_THROW(analyse_near(image_, "", {{at("loops"), at("loops") + 1}}, &stop), Error);
}

TEST_F(SurveyTest, ABranchFromTheColdPartIsNamed) {
    const Explanation e = explain("split", 0);
    EXPECT_EQ(e.plan.jump.reason, djprobe::Reason::BRANCH_INTO_REGION);
    EXPECT_NE(explain_text(e).find("a jump at split.cold+0x5 lands at +0x1"), std::string::npos)
        << explain_text(e);
}

TEST_F(SurveyTest, MainlineDoesNotSeeTheColdPart) {
    EXPECT_EQ(explain("split", 0).mainline->kind, Means::Jump);
}

TEST_F(SurveyTest, ABranchBehindTheRegionIsHarmlessButNotToMainline) {
    EXPECT_EQ(jump("loops"), djprobe::Reason::NONE);
    EXPECT_EQ(explain("loops", 0).mainline->kind, Means::Int3);
}

TEST_F(SurveyTest, FixupsForbidTheirInstructionAndTheirTargetOnly) {
    EXPECT_EQ(jump("faults"), djprobe::Reason::NONE);
    EXPECT_EQ(refusal("faults", 5), djprobe::Reason::EXTABLE_INSN);
    EXPECT_EQ(jump("faults", 8), djprobe::Reason::FIXUP_INTO_REGION);
    EXPECT_EQ(explain("faults", 0).mainline->kind, Means::Int3) << "it refuses the whole function";
}

TEST_F(SurveyTest, TheEntryIsBehindEndbrAndFtrace) {
    EXPECT_EQ(map_.entry(map_.find(at("traced"))), at("traced", 9));
    EXPECT_EQ(map_.entry(map_.find(at("sealed"))), at("sealed", 9));
    EXPECT_EQ(map_.entry(map_.find(at("loops"))), at("loops"));
    EXPECT_EQ(refusal("traced"), djprobe::Reason::ENDBR);
    EXPECT_EQ(refusal("traced", 4), djprobe::Reason::FTRACE_SITE);
    EXPECT_EQ(explain("traced", 4).mainline->kind, Means::Ftrace);
}

TEST_F(SurveyTest, CodeWithoutASymbolIsNoSite) {
    EXPECT_EQ(jump("overridden"), djprobe::Reason::NONE);
    EXPECT_EQ(refusal("overridden", 21), djprobe::Reason::NOT_TEXT);
    EXPECT_EQ(map_.describe(at("overridden") + 21), "overridden+0x15");
    SurveyScope scope;
    scope.glob = "overridden";
    const SurveyCounts counts = count(scope);
    EXPECT_EQ(counts.functions, 1u);
    EXPECT_EQ(counts.probeable() + counts.refusals(), 2u) << "the mov and the ret";
}

// Ours are more than the kernel's kprobes take, and the reverse: both are counted.
TEST_F(SurveyTest, TheShareOfWhatTheKernelsKprobesAccept) {
    SurveyScope scope;
    scope.glob = "faults";
    const SurveyCounts counts = count(scope);
    // The instruction with the fixup is none of ours, but one of theirs.
    EXPECT_EQ(counts.refusals(), 1u);
    EXPECT_EQ(counts.accepted, counts.probeable() + 1);
    EXPECT_EQ(counts.accepted_jumps, counts.jumps());
    EXPECT_GT(counts.accepted_jumps, 0u);
    // An endbr64 is accepted, too; ftrace's call is left out.
    scope.glob = "traced";
    EXPECT_EQ(count(scope).accepted, 3u);
    EXPECT_NE(summary_text(counts, "tiny")
                  .find(fmt::format("of {} sites that the kernel's kprobes accept {:.2f}% get a "
                                    "jump\n",
                                    counts.accepted, percent(counts.jumps(), counts.accepted))),
              std::string::npos);
}

TEST_F(SurveyTest, ARegisterJumpIsATailCallUnlessAPlaceInsideIsTaken) {
    EXPECT_EQ(jump("tail"), djprobe::Reason::NONE);
    EXPECT_EQ(jump("computed"), djprobe::Reason::INDIRECT_JUMP);
}

TEST_F(SurveyTest, WhatRunsOnEveryInt3IsNoSite) {
    EXPECT_EQ(refusal("notify_die"), djprobe::Reason::TRAP_PATH);
    EXPECT_EQ(refusal("notifier_chain"), djprobe::Reason::TRAP_PATH) << "a tail jump away";
}

TEST_F(SurveyTest, TheBlacklistOfAnImageIsInASection) {
    EXPECT_EQ(refusal("blacklisted"), djprobe::Reason::BLACKLISTED);
    EXPECT_EQ(explain("blacklisted", 0).mainline->kind, Means::Refused);
}

// A section of its own (.cold) or a symbol of its own (.part) do not make it another function.
TEST_F(SurveyTest, PartsOfABlacklistedFunctionAreBlacklisted) {
    EXPECT_EQ(refusal("blacklisted.part.0"), djprobe::Reason::BLACKLISTED);
}

TEST_F(SurveyTest, TrampolinesOfStaticCallsAreTheKernels) {
    EXPECT_EQ(refusal("__SCT__call"), djprobe::Reason::STATIC_CALL);
}

TEST_F(SurveyTest, LockPrefixesOfAnImageMayBeRewritten) {
    EXPECT_EQ(refusal("locked", 5), djprobe::Reason::ALTERNATIVE);
    EXPECT_EQ(jump("locked"), djprobe::Reason::NONE);
}

TEST_F(SurveyTest, BetweenInstructionsIsNoSite) {
    EXPECT_EQ(refusal("loops", 1), djprobe::Reason::NOT_BOUNDARY);
}

TEST_F(SurveyTest, LinesAreTheSameForAnyNumberOfThreads) {
    const std::string one = lines(1);
    EXPECT_EQ(lines(2), one);
    EXPECT_EQ(lines(7), one);
}

TEST_F(SurveyTest, ALineHasTheDocumentedForm) {
    SurveyScope scope;
    scope.glob = "loop[s]";
    const std::string text = lines(1, scope);
    EXPECT_EQ(
        text.substr(0, text.find('\n')),
        fmt::format(R"({{"type":"site","site":"loops+0x0","address":"{:#x}","verdict":"jump",)"
                    R"("tactic":"window","reason":"none","dcr":5}})",
                    at("loops")));
}

TEST_F(SurveyTest, AGlobChoosesFunctions) {
    SurveyScope scope;
    scope.glob = "split*";
    EXPECT_EQ(count(scope).functions, 2u) << "split and split.cold";
}

TEST_F(SurveyTest, PaddingSymbolsHaveNoSites) {
    EXPECT_EQ(lines(1).find("__pfx_padding"), std::string::npos);
}

TEST_F(SurveyTest, ASampleIsReproducible) {
    SurveyScope scope;
    scope.sample = 5;
    scope.seed = 3;
    const std::string first = lines(2, scope);
    EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 5);
    EXPECT_EQ(lines(1, scope), first);
}

TEST_F(SurveyTest, ASampleOfMoreThanThereIsIsAll) {
    SurveyScope scope;
    scope.sample = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(lines(1, scope), lines(1));
}

TEST_F(SurveyTest, TheSummaryAddsUp) {
    const SurveyCounts counts = count({});
    const std::string all = lines(1);
    EXPECT_EQ(counts.probeable() + counts.refusals(),
              static_cast<std::uint64_t>(std::count(all.begin(), all.end(), '\n')));
    const auto json = nlohmann::json::parse(summary_json(counts, "tiny"));
    EXPECT_EQ(json["jump"].get<std::uint64_t>() + json["int3"].get<std::uint64_t>(),
              json["probeable"].get<std::uint64_t>());
}

// An explanation is what a tracer of the decision hears: no rule is asked behind the refusal.
TEST_F(SurveyTest, TheRulesAreShownUpToTheRefusal) {
    const Explanation e = explain("loops", 1);
    ASSERT_FALSE(e.checks.empty());
    EXPECT_STREQ(e.checks.back().name, "boundary");
    EXPECT_EQ(e.checks.back().text, e.reason);
    for (std::size_t i = 0; i + 1 < e.checks.size(); ++i)
        EXPECT_TRUE(e.checks[i].passed) << e.checks[i].name;
    EXPECT_TRUE(e.tactics.empty());
}

TEST_F(SurveyTest, EachTacticIsShownUpToTheOneThatFits) {
    const Explanation e = explain("faults", 8);
    ASSERT_EQ(e.tactics.size(), 3u);
    EXPECT_STREQ(e.tactics[0].name, "window");
    EXPECT_EQ(e.tactics[0].text, e.reason);
    EXPECT_STREQ(e.tactics[1].name, "slide");
    EXPECT_STREQ(e.tactics[2].name, "springboard");
    EXPECT_EQ(explain("loops", 0).tactics.size(), 1u);
}

TEST_F(SurveyTest, ExplanationAsJsonHoldsTheDecision) {
    const auto json = nlohmann::json::parse(explain_json(explain("loops", 0)));
    EXPECT_EQ(json["verdict"], "jump");
    EXPECT_EQ(json["tactic"], "window");
    EXPECT_EQ(json["dcr"], 5);
    EXPECT_TRUE(json["module"].is_null());
    EXPECT_EQ(json["mainline"]["verdict"], "int3");
    EXPECT_EQ(json["detour"].back()["text"], fmt::format("jmp {:#x}  <loops+0x5>", at("loops", 5)));
}

TEST_F(SurveyTest, APlaceOutsideOfAllTextIsRefusedAndThatIsAll) {
    Explanation e = explain_outside(0x1000, djprobe::Reason::INIT_TEXT, symbolizer_);
    e.source = "here";
    EXPECT_EQ(explain_text(e),
              "0x1000 (0x1000) in here\n"
              "refused: in init text, which is freed after boot\n"
              "local analysis only: the module has not been asked\n");
    const auto json = nlohmann::json::parse(explain_json(e));
    EXPECT_EQ(json["verdict"], "refused");
    EXPECT_EQ(json["reason"], "init-text");
    EXPECT_TRUE(json["mainline"].is_null());
    e.module = djprobe_explain{};
    e.module->reason = DJPROBE_REASON_INIT_TEXT;
    EXPECT_TRUE(e.agrees());
}

TEST_F(SurveyTest, ADifferentAnswerOfTheModuleIsLoud) {
    Explanation e = explain("loops", 0);
    e.module = djprobe_explain{};
    e.module->verdict = DJPROBE_VERDICT_INT3;
    e.module_reason = "a reason of its own";
    EXPECT_FALSE(e.agrees());
    EXPECT_NE(explain_text(e).find("THE MODULE DECIDES OTHERWISE: int3 only: a reason of its own"),
              std::string::npos);
}

TEST_F(SurveyTest, WhatOnlyTheModuleSeesIsNotLoud) {
    Explanation e = explain("loops", 0);
    e.module = djprobe_explain{};
    e.module->verdict = DJPROBE_VERDICT_INT3;
    e.module_reason = "why";
    constexpr const char* kLine =
        "beside what is in the text now the module decides: int3 only: why\n";
    for (const auto reason : {DJPROBE_REASON_SHARED_KPROBE, DJPROBE_REASON_OVERLAP}) {
        e.module->reason = reason;
        EXPECT_NE(explain_text(e).find(kLine), std::string::npos);
    }
    e.module->reason = DJPROBE_REASON_REGION_RESERVED;
    e.module->detail[1] = DJPROBE_REASON_FOREIGN_PATCH;
    EXPECT_NE(explain_text(e).find(kLine), std::string::npos);
    e.module->detail[1] = DJPROBE_REASON_JUMP_LABEL;
    EXPECT_EQ(explain_text(e).find(kLine), std::string::npos);
}

TEST_F(SurveyTest, AVerdictNewerThanTheLoaderIsUnknown) {
    Explanation e = explain("loops", 0);
    e.module = djprobe_explain{};
    e.module->verdict = 7;
    EXPECT_FALSE(e.agrees());
    EXPECT_NE(explain_text(e).find("THE MODULE DECIDES OTHERWISE: unknown\n"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(explain_json(e))["module"]["verdict"], "unknown");
}

}  // namespace
}  // namespace djprobe::loader
