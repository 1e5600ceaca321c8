// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "run/held_places.h"

namespace djprobe::loader {
namespace {

using std::chrono::milliseconds;

bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

class RunHeldPlaces : public testing::Test {
  protected:
    int hold(pid_t thread, HeldPlaces::Clock::time_point since) {
        UniqueFd event(dup(STDIN_FILENO));
        const int number = event.get();
        places_.hold(thread, std::move(event), since);
        return number;
    }

    const HeldPlaces::Clock::time_point start_ = HeldPlaces::Clock::now();
    HeldPlaces places_;
};

TEST_F(RunHeldPlaces, are_let_go_when_their_thread_makes_another_call) {
    const int one = hold(1, start_), other = hold(2, start_);
    places_.let_go(1);
    EXPECT_FALSE(is_open(one));
    EXPECT_TRUE(is_open(other));
    EXPECT_TRUE(places_.look(start_));
}

TEST_F(RunHeldPlaces, are_let_go_after_a_time) {
    const int one = hold(1, start_), later = hold(2, start_ + milliseconds(500));
    EXPECT_TRUE(places_.look(start_ + HeldPlaces::kLongest - milliseconds(1)));
    EXPECT_TRUE(is_open(one));
    EXPECT_TRUE(places_.look(start_ + HeldPlaces::kLongest));
    EXPECT_FALSE(is_open(one));
    EXPECT_TRUE(is_open(later));
    EXPECT_FALSE(places_.look(start_ + HeldPlaces::kLongest + milliseconds(500)));
    EXPECT_FALSE(is_open(later));
}

}  // namespace
}  // namespace djprobe::loader
