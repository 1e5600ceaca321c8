// SPDX-License-Identifier: GPL-2.0
// Errors as tests want them: by exit status and by their exact line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace djprobe::loader {

/// Runs the function, which must throw Error with this status; returns its message.
template <typename Function>
std::string expect_error(ExitCode code, Function&& function) {
    try {
        function();
    } catch (const Error& error) {
        EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
}

}  // namespace djprobe::loader
