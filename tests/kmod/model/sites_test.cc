// SPDX-License-Identifier: GPL-2.0
// The search for sites: a test that finds none has shown nothing.
#include "sites.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace djprobe::model {
namespace {

const auto use_none = [](u64, u64, const djp_verdict&) { return false; };

TEST(ForEachJump, FailsWhenNoSiteHasTheTactic) {
    constexpr unsigned int kNoTactic = 99;
    EXPECT_NONFATAL_FAILURE(for_each_jump(kNoTactic, true, use_none), "no image has enough sites");
}

TEST(ForEachJump, FailsWhenTheTestUsesNoSite) {
    EXPECT_NONFATAL_FAILURE(for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, true, use_none),
                            "no image has enough sites");
}

}  // namespace
}  // namespace djprobe::model
