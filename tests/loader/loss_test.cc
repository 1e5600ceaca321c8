// SPDX-License-Identifier: GPL-2.0
#include "events/loss.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "base/ticker.h"
#include "cli/checks.h"
#include "session/loss_watch.h"
#include "session/results.h"

namespace djprobe::loader {
namespace {

TEST(Loss, is_told_when_it_grows) {
    EXPECT_EQ(loss_line({}, {}), "");
    EXPECT_EQ(loss_line({40, 3}, {40, 3}), "");
    EXPECT_EQ(loss_line({28, 0}, {40, 3}),
              "12 events lost and 3 hits missed in a second (40 and 3 in all)");
    EXPECT_EQ(loss_line({39, 3}, {40, 3}), "1 event lost in a second (40 in all)");
    EXPECT_EQ(loss_line({40, 0}, {40, 1}), "1 hit missed in a second (1 in all)");
}

TEST(Loss, that_is_not_counted_is_never_called_0) {
    EXPECT_EQ((Loss{0, 0}).str(), "0 lost");
    EXPECT_EQ((Loss{std::nullopt, 0}).str(),
              "lost not counted (add a global '__u64 lost' and count failed reserves in it)");
    EXPECT_EQ((Loss{std::nullopt, 5}).str().find("lost unknown (at most 5 if "), 0U);
}

TEST(Loss, makes_a_result_incomplete) {
    Summary summary;
    EXPECT_TRUE(is_complete(summary));
    summary.loss = Loss{0, 0};
    EXPECT_TRUE(is_complete(summary));
    summary.loss = Loss{1, 0};
    EXPECT_FALSE(is_complete(summary));
    summary.loss = Loss{std::nullopt, 1};
    EXPECT_FALSE(is_complete(summary));
    summary.loss.reset();
    summary.attachments.resize(2);
    EXPECT_TRUE(is_complete(summary));
    summary.attachments[1].total.missed[DJPROBE_MISS_NMI] = 1;
    EXPECT_FALSE(is_complete(summary));
}

TEST(BufferSize, has_a_unit_and_is_a_power_of_two_from_a_page_on) {
    EXPECT_EQ(parse_buffer_size("64K"), 65536U);
    EXPECT_EQ(parse_buffer_size("1M"), 1048576U);
    EXPECT_EQ(parse_buffer_size("1G"), 1073741824U);
    EXPECT_EQ(parse_buffer_size("5000"), 8192U);
    EXPECT_EQ(parse_buffer_size("1"), 4096U);
    for (const char* text : {"", "K", "0", "-1", "2G", "1T", "64k", "4294967296", "1 M"}) {
        EXPECT_EQ(parse_buffer_size(text), 0U) << text;
        EXPECT_EQ(buffer_size(text),
                  std::string("'") + text + "' is not a size up to 1G, as 64K or 1M");
    }
}

TEST(Ticker, ticks_until_it_is_stopped) {
    Ticker ticker(0.01);
    pollfd polled = {ticker.fd(), POLLIN, 0};
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(poll(&polled, 1, 10'000), 1);
        EXPECT_TRUE(ticker.take());
    }
    ticker.stop();
    ticker.take();
    EXPECT_EQ(poll(&polled, 1, 50), 0);
    EXPECT_FALSE(ticker.take());
    EXPECT_FALSE(Ticker().take());
}

}  // namespace
}  // namespace djprobe::loader
