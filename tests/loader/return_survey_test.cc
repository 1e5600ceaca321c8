// SPDX-License-Identifier: GPL-2.0
// How the functions of tiny_kernel.S can be left.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/unique_fd.h"
#include "survey/returns.h"

namespace djprobe::loader {
namespace {

using Mode = ReturnVerdict::Mode;

class ReturnSurvey : public testing::Test {
  protected:
    ReturnSurvey()
        : image_(KernelImage::from_file(DJPROBE_TINY_KERNEL, "")),
          facts_(read_facts(image_)),
          map_(image_, facts_),
          finder_(image_, map_) {}

    std::size_t index(const char* name) { return map_.find(image_.address_of(name).value()); }
    ReturnVerdict judge(const char* name) { return finder_.judge(index(name)); }
    void expect_refused(const char* name, Reason reason) {
        const ReturnVerdict verdict = judge(name);
        EXPECT_EQ(verdict.mode, Mode::kRefused) << name;
        EXPECT_EQ(verdict.reason, reason) << name;
    }
    ReturnCounts count(const SurveyScope& scope = {}) {
        return survey_returns({finder_}, scope, nullptr);
    }
    std::string lines(const SurveyScope& scope) {
        char path[] = "/tmp/return_survey_test.XXXXXX";
        const UniqueFd fd(mkstemp(path));
        unlink(path);
        Output output(fd.get());
        survey_returns({finder_}, scope, &output);
        output.flush();
        std::string text(static_cast<std::size_t>(lseek(fd.get(), 0, SEEK_END)), 0);
        EXPECT_EQ(pread(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        return text;
    }

    KernelImage image_;
    TextFacts facts_;
    TextMap map_;
    ReturnFinder finder_;
};

TEST_F(ReturnSurvey, AllReturnsAreFound) {
    const ReturnVerdict verdict = judge("two_returns");
    EXPECT_EQ(verdict.mode, Mode::kExact);
    EXPECT_EQ(verdict.returns, 2u);
    EXPECT_EQ(judge("traced").returns, 1u);
    EXPECT_TRUE(judge("traced").jumps) << "int3 behind it";
    EXPECT_EQ(judge("crowded").mode, Mode::kExact);
    EXPECT_FALSE(judge("crowded").jumps) << "a branch's target with code behind it";
}

TEST_F(ReturnSurvey, ThePartElsewhereBelongsToItsFunction) {
    EXPECT_EQ(judge("parted").mode, Mode::kExact);
    EXPECT_EQ(judge("parted").returns, 2u);
    EXPECT_TRUE(finder_.is_part(index("parted.cold")));
    EXPECT_FALSE(finder_.is_part(index("parted")));
    SurveyScope scope;
    scope.glob = "parted*";
    EXPECT_EQ(count(scope).functions, 1u);
}

TEST_F(ReturnSurvey, TailCallsNeedShadowMode) {
    for (const char* name : {"sometimes_tail", "always_tail", "into_the_middle", "static_tail",
                             "static_tail_of_boot"}) {
        EXPECT_EQ(judge(name).mode, Mode::kShadow) << name;
        EXPECT_EQ(judge(name).reason, Reason::TAIL_CALL) << name;
    }
    EXPECT_EQ(judge("sometimes_tail").returns, 1u);
    EXPECT_EQ(judge("always_tail").returns, 0u);
    EXPECT_EQ(judge("static_tail").returns, 0u) << "a return only until the call is set";
    EXPECT_EQ(judge("static_tail_of_boot").returns, 0u);
}

TEST_F(ReturnSurvey, RefusalsHaveTheirReason) {
    expect_refused("endless", Reason::NO_RETURN);
    expect_refused("loops", Reason::NO_FUNCTION);
    expect_refused("blacklisted_return", Reason::BLACKLISTED);
}

TEST_F(ReturnSurvey, TheSummaryAddsUp) {
    const ReturnCounts counts = count();
    EXPECT_EQ(counts.exact + counts.shadow + sum(counts.refused), counts.functions);
    EXPECT_EQ(counts.shadow, 5u);
    EXPECT_EQ(counts.only_tail_calls, 3u);
    EXPECT_EQ(counts.exact, 5u) << "traced, sealed, two_returns, parted, crowded";
    EXPECT_EQ(counts.all_jumps, 4u);
    EXPECT_EQ(counts.returns, 7u);
    const auto json = nlohmann::json::parse(return_summary_json(counts, "tiny"));
    EXPECT_EQ(json["exact"], 5);
    EXPECT_EQ(json["refused_reasons"]["no-return"], 1);
    EXPECT_NE(return_summary_text(counts, "tiny").find("shadow mode"), std::string::npos);
}

TEST_F(ReturnSurvey, ALineHasTheDocumentedForm) {
    SurveyScope scope;
    scope.glob = "sometimes_*";
    const auto line = nlohmann::json::parse(lines(scope));
    EXPECT_EQ(line["function"], "sometimes_tail");
    EXPECT_EQ(line["mode"], "shadow");
    EXPECT_EQ(line["reason"], "tail-call");
    EXPECT_EQ(line["returns"], 1);
}

TEST_F(ReturnSurvey, ASampleIsReproducible) {
    SurveyScope scope;
    scope.sample = 5;
    scope.seed = 3;
    const std::string first = lines(scope);
    EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 5);
    EXPECT_EQ(lines(scope), first);
}

TEST_F(ReturnSurvey, ASampleOfMoreThanThereIsIsAll) {
    SurveyScope scope;
    scope.sample = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(lines(scope), lines({}));
}

}  // namespace
}  // namespace djprobe::loader
