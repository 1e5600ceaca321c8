// SPDX-License-Identifier: GPL-2.0
// The tests that speak the module's ABI themselves. A guest script selects its part with
// --gtest_filter and puts the oracle around it.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>

namespace {

bool matches_a_test(const std::string& pattern) {
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const testing::TestSuite& suite = *all.GetTestSuite(i);
        for (int j = 0; j < suite.total_test_count(); ++j) {
            const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(j)->name();
            if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
        }
    }
    return false;
}

/// A filter with a wrong name in it must not pass: its tests would silently drop out.
bool all_match(const std::string& filter) {
    bool all = true;
    std::istringstream wanted(filter.substr(0, filter.find('-')));
    for (std::string pattern; std::getline(wanted, pattern, ':');)
        if (!matches_a_test(pattern)) {
            std::fprintf(stderr, "probe_tests: no test matches '%s' of the filter\n",
                         pattern.c_str());
            all = false;
        }
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (!all_match(GTEST_FLAG_GET(filter))) return 1;
    const int result = RUN_ALL_TESTS();
    if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return result;
    std::fprintf(stderr, "probe_tests: the filter leaves no test\n");
    return 1;
}
