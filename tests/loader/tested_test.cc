// SPDX-License-Identifier: GPL-2.0
// Which kernels count as tested.
#include <djprobe_tested.h>
#include <gtest/gtest.h>

namespace djprobe::loader {
namespace {

TEST(Tested, TheReleasesOfTheSeriesThatTheTestsHaveRunOn) {
    for (const char* release :
         {"6.1.0-56-cloud-amd64", "6.1.0-56-amd64", "6.12.117+deb12-cloud-amd64",
          "6.12.117+deb12-rt-amd64", "6.12.48+deb13-amd64", "7.3.4+deb13-cloud-amd64",
          "6.12.117-djprobe-debug"})
        EXPECT_TRUE(djprobe_is_tested(release)) << release;
    for (const char* release :
         {"", "6.1.0", "6.1.0-56-cloud-arm64", "6.10.0-1-amd64", "6.12.117+deb14-amd64", "6.12.117",
          "7.4.1+deb13-cloud-amd64", "7.3.4+deb14-amd64", "6.12.117+deb12-cloud-amd64-mine"})
        EXPECT_FALSE(djprobe_is_tested(release)) << release;
}

TEST(Tested, AnAsteriskTakesAsMuchAsItMust) {
    EXPECT_TRUE(djprobe_matches_release("a*b", "abab"));
    EXPECT_TRUE(djprobe_matches_release("a*b*", "ab"));
    EXPECT_FALSE(djprobe_matches_release("a*b", "aba"));
    EXPECT_FALSE(djprobe_matches_release("a", "ab"));
}

}  // namespace
}  // namespace djprobe::loader
