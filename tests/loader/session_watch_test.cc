// SPDX-License-Identifier: GPL-2.0
#include "session/session_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace djprobe::loader {
namespace {

TEST(SessionWatch, entry_program_that_selects_no_return_is_told) {
    EXPECT_EQ(no_return_selected("on_entry", "on_return", 7, 0),
              "--session: 'on_entry' ran at 7 entries, and 'on_return' at no return: the former "
              "must return another value than 0 for each call whose return is wanted (or all those "
              "calls still run)");
    EXPECT_EQ(no_return_selected("on_entry", "on_return", 1, 0).find("1 entry, and"),
              std::string("--session: 'on_entry' ran at ").size());
}

TEST(SessionWatch, function_that_is_not_called_or_a_return_that_is_seen_is_no_mistake) {
    EXPECT_EQ(no_return_selected("on_entry", "on_return", 0, 0), "");
    EXPECT_EQ(no_return_selected("on_entry", "on_return", 7, 1), "");
}

TEST(SessionWatch, does_nothing_without_a_session) {
    SessionWatch none(false);
    EXPECT_LT(none.watched().fd, 0);
    none.end();
}

}  // namespace
}  // namespace djprobe::loader
