// SPDX-License-Identifier: GPL-2.0
#include "base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <array>
#include <string>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

using namespace std::chrono_literals;

/// Both ends of a terminal.
struct Terminal {
    explicit Terminal(const char* type = "xterm", unsigned short columns = 0) {
        setenv("TERM", type, 1);
        grantpt(screen.get());
        unlockpt(screen.get());
        line = UniqueFd(open(ptsname(screen.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
        const winsize size = {.ws_row = 0, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        ioctl(screen.get(), TIOCSWINSZ, &size);
    }
    [[nodiscard]] std::string shown() const {
        std::string text;
        std::array<char, 256> piece;
        for (pollfd ready = {screen.get(), POLLIN, 0}; poll(&ready, 1, 0) > 0;) {
            const ssize_t got = read(screen.get(), piece.data(), piece.size());
            if (got <= 0) break;
            text.append(piece.data(), static_cast<std::size_t>(got));
        }
        return text;
    }

    UniqueFd screen{posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
    UniqueFd line;
};

TEST(Progress, estimates_what_is_left) {
    EXPECT_EQ(progress_text("attaching", 0, 400, 1), "attaching: 0 of 400 (0%)");
    EXPECT_EQ(progress_text("attaching", 100, 400, 2),
              "attaching: 100 of 400 (25%), about 6 s left");
    EXPECT_EQ(progress_text("attaching", 400, 400, 2),
              "attaching: 400 of 400 (100%), about 0 s left");
}

TEST(Progress, on_a_terminal_is_shown_after_a_while_and_wiped_at_the_end) {
    const Terminal terminal;
    ASSERT_TRUE(terminal.line);
    {
        Progress soon("attaching", 400, terminal.line.get(), 0ms);
        soon.at(100);
        EXPECT_TRUE(terminal.shown().starts_with("\r\x1b[Kattaching: 100 of 400 (25%)"));
        soon.at(101);
        EXPECT_EQ(terminal.shown(), "") << "not at each step";
    }
    EXPECT_EQ(terminal.shown(), "\r\x1b[K");
    {
        Progress later("attaching", 400, terminal.line.get(), 1h);
        later.at(100);
    }
    EXPECT_EQ(terminal.shown(), "") << "what is done at once has no progress";
}

TEST(Progress, stays_within_one_line_of_the_terminal) {
    const Terminal terminal("xterm", 20);
    Progress("attaching", 400, terminal.line.get(), 0ms).at(100);
    EXPECT_EQ(terminal.shown(), "\r\x1b[Kattaching: 100 of 4\r\x1b[K");
}

TEST(Progress, is_not_for_a_terminal_that_cannot_wipe_a_line) {
    const Terminal terminal("dumb");
    Progress("attaching", 400, terminal.line.get(), 0ms).at(100);
    EXPECT_EQ(terminal.shown(), "");
}

TEST(Progress, is_for_terminals_only) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const UniqueFd reader(ends[0]), writer(ends[1]);
    { Progress(std::string("attaching"), 400, writer.get(), 0ms).at(100); }
    char byte = 0;
    EXPECT_LT(read(reader.get(), &byte, 1), 0);
}

}  // namespace
}  // namespace djprobe::loader
