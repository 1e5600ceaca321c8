// SPDX-License-Identifier: GPL-2.0
#include "events/ring.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "replay_ring.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kSize = 4096;

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::vector<std::string> consume(const ReplayRing& ring, std::size_t at_most = SIZE_MAX) {
    std::vector<std::string> records;
    consume_ring(ring.memory(), [&](std::span<const std::byte> record) {
        records.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
        return records.size() < at_most;
    });
    return records;
}

TEST(Ring, records_come_in_order_and_once) {
    ReplayRing ring(kSize);
    EXPECT_TRUE(consume(ring).empty());
    ASSERT_TRUE(ring.output(bytes("one")));
    ASSERT_TRUE(ring.output(bytes("twelve bytes")));
    EXPECT_EQ(consume(ring), (std::vector<std::string>{"one", "twelve bytes"}));
    EXPECT_TRUE(consume(ring).empty());
}

TEST(Ring, a_record_over_the_end_is_whole) {
    ReplayRing ring(kSize);
    const std::string text(1000, 'x');
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(ring.output(bytes(text)));
        ASSERT_EQ(consume(ring), std::vector{text}) << i;
    }
}

TEST(Ring, ends_at_a_record_that_is_being_written) {
    ReplayRing ring(kSize);
    ASSERT_TRUE(ring.output(bytes("done")));
    std::byte* const open = ring.reserve(8);
    ASSERT_TRUE(ring.output(bytes("behind it")));
    EXPECT_EQ(consume(ring), std::vector<std::string>{"done"});
    std::memcpy(open, "eight by", 8);
    ReplayRing::submit(open, 8);
    EXPECT_EQ(consume(ring), (std::vector<std::string>{"eight by", "behind it"}));
}

TEST(Ring, a_producer_as_fast_as_the_reader_does_not_hold_it) {
    ReplayRing ring(kSize);
    ASSERT_TRUE(ring.output(bytes("first")));
    int records = 0;
    consume_ring(ring.memory(), [&](std::span<const std::byte>) {
        EXPECT_TRUE(ring.output(bytes("next")));
        return ++records < 1000;
    });
    EXPECT_EQ(records, 1);
    EXPECT_EQ(consume(ring), std::vector<std::string>{"next"});
}

TEST(Ring, discarded_records_are_skipped) {
    ReplayRing ring(kSize);
    ReplayRing::submit(ring.reserve(16), 16, kRingDiscard);
    ASSERT_TRUE(ring.output(bytes("kept")));
    EXPECT_EQ(consume(ring), std::vector<std::string>{"kept"});
}

TEST(Ring, stops_when_told_and_goes_on_there) {
    ReplayRing ring(kSize);
    for (const char* text : {"a", "b", "c"})
        ASSERT_TRUE(ring.output(bytes(text)));
    EXPECT_EQ(consume(ring, 2), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(consume(ring), std::vector<std::string>{"c"});
}

TEST(Ring, room_comes_back_while_a_full_ring_is_read) {
    ReplayRing ring(kSize);
    const std::string text(56, 'x');
    while (ring.output(bytes(text))) {
    }
    int read = 0;
    int written = 0;
    consume_ring(ring.memory(), [&](std::span<const std::byte>) {
        if (ring.output(bytes(text))) ++written;
        return ++read < 40;
    });
    EXPECT_GT(written, 16);  // at least half of a ring of 64 records, before the batch's end
}

TEST(Ring, nothing_is_lost_between_two_threads) {
    constexpr std::uint64_t kCount = 300'000;
    ReplayRing ring(kSize);
    std::thread producer([&] {
        for (std::uint64_t i = 0; i < kCount; ++i) {
            while (!ring.output(std::as_bytes(std::span(&i, 1))))
                std::this_thread::yield();
        }
    });
    std::uint64_t expected = 0;
    bool in_order = true;
    while (expected < kCount && in_order) {
        consume_ring(ring.memory(), [&](std::span<const std::byte> record) {
            std::uint64_t number = 0;
            in_order = record.size() == sizeof number;
            if (in_order) std::memcpy(&number, record.data(), sizeof number);
            return in_order = in_order && number == expected++;
        });
        std::this_thread::yield();
    }
    // A producer that waits for room would else never end.
    while (expected < kCount)
        consume_ring(ring.memory(), [&](std::span<const std::byte>) { return ++expected > 0; });
    producer.join();
    EXPECT_TRUE(in_order);
}

}  // namespace
}  // namespace djprobe::loader
