// SPDX-License-Identifier: GPL-2.0
// The tests that speak the module's ABI themselves. A guest script selects its part with
// --gtest_filter and puts the oracle around it.
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const int result = RUN_ALL_TESTS();
    if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return result;
    // A filter with a wrong name in it must not pass.
    std::fprintf(stderr, "probe_tests: no test matches the filter\n");
    return 1;
}
