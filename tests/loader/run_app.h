// SPDX-License-Identifier: GPL-2.0
// probeload's command line within a test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/app.h"

namespace djprobe::loader {

struct AppResult {
    int status;
    std::string out;
    std::string err;
};

inline AppResult run_app(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "probeload");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run_probeload(static_cast<int>(arguments.size()), arguments.data());
    return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

inline void expect_usage_error(const std::vector<const char*>& arguments, const std::string& line) {
    const AppResult result = run_app(arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.err, "probeload: " + line + "\n");
    EXPECT_EQ(result.out, "");
}

}  // namespace djprobe::loader
