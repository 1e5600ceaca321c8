// SPDX-License-Identifier: GPL-2.0
#include "blocks/flow.h"

#include <gmock/gmock.h>

#include <random>

namespace djprobe::loader {
namespace {

using testing::IsEmpty;
using testing::Not;

// Random flows, walked at random: what has truly run is known.
struct Walked {
    std::vector<Block> blocks;
    std::vector<std::uint64_t> truth;
    std::vector<std::vector<std::uint64_t>> edges;
};

Walked walk(std::mt19937& random) {
    Walked walked;
    const std::size_t size = 1 + random() % 24;
    walked.blocks.resize(size);
    walked.blocks[0].arrives = true;
    for (Block& block : walked.blocks) {
        block.arrives |= random() % 12 == 0;
        for (std::size_t i = random() % 3; i > 0; --i)
            if (const std::size_t next = random() % size; std::ranges::count(block.next, next) == 0)
                block.next.push_back(next);
        block.leaves = block.next.empty() || random() % 6 == 0;
    }
    walked.truth.resize(size);
    for (const Block& block : walked.blocks)
        walked.edges.emplace_back(block.next.size());
    for (int call = 0; call < 50; ++call) {
        std::size_t at = random() % size;
        if (!walked.blocks[at].arrives) at = 0;
        // A walk that finds no way out counts as no call at all.
        Walked one = walked;
        for (int step = 0; step < 500; ++step) {
            const Block& block = walked.blocks[at];
            ++one.truth[at];
            const std::size_t ways = block.next.size() + (block.leaves ? 1 : 0);
            const std::size_t way = random() % ways;
            if (way == block.next.size()) {
                walked = std::move(one);
                break;
            }
            ++one.edges[at][way];
            at = block.next[way];
        }
    }
    return walked;
}

TEST(Flow, WhatIsNotCountedFollowsExactly) {
    std::mt19937 random(7);
    std::size_t chosen_blocks = 0, all_blocks = 0;
    for (int round = 0; round < 5000; ++round) {
        const Walked walked = walk(random);
        const Flow flow(walked.blocks);
        const std::vector<bool> chosen = flow.choose(loop_weights(walked.blocks));
        std::vector<Count> counts(chosen.size());
        for (std::size_t i = 0; i < chosen.size(); ++i)
            if (chosen[i]) counts[i] = walked.truth[i];
        chosen_blocks += static_cast<std::size_t>(std::ranges::count(chosen, true));
        all_blocks += chosen.size();
        flow.solve(counts);
        for (std::size_t i = 0; i < chosen.size(); ++i)
            ASSERT_EQ(counts[i], walked.truth[i]) << "round " << round << ", block " << i;
        EXPECT_THAT(flow.unbalanced(counts), IsEmpty());
        const auto edges = solve_edges(walked.blocks, counts);
        for (std::size_t i = 0; i < edges.size(); ++i)
            for (std::size_t n = 0; n < edges[i].size(); ++n)
                ASSERT_EQ(edges[i][n].value_or(walked.edges[i][n]), walked.edges[i][n])
                    << "round " << round << ", block " << i << ", way " << n;
    }
    EXPECT_LT(chosen_blocks * 4, all_blocks * 3);
}

TEST(Flow, WhatCannotBeCountedIsNeverGuessed) {
    std::mt19937 random(8);
    std::size_t unknown = 0;
    for (int round = 0; round < 5000; ++round) {
        const Walked walked = walk(random);
        const Flow flow(walked.blocks);
        std::vector<unsigned> costs(walked.blocks.size());
        for (unsigned& cost : costs)
            cost = random() % 3 == 0 ? 1'000'000 : 1;
        const std::vector<bool> chosen = flow.choose(costs);
        std::vector<Count> counts(chosen.size());
        for (std::size_t i = 0; i < chosen.size(); ++i)
            if (chosen[i] && costs[i] == 1) counts[i] = walked.truth[i];
        flow.solve(counts);
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            unknown += !counts[i];
            ASSERT_EQ(counts[i].value_or(walked.truth[i]), walked.truth[i])
                << "round " << round << ", block " << i;
        }
    }
    EXPECT_GT(unknown, 0u);
}

TEST(Flow, BlocksOfTheSameMarkRunEquallyOften) {
    std::mt19937 random(9);
    std::size_t pairs = 0;
    for (int round = 0; round < 2000; ++round) {
        const Walked walked = walk(random);
        const auto marks = Flow(walked.blocks).marks();
        for (std::size_t i = 0; i < marks.size(); ++i) {
            ASSERT_TRUE(marks[i] != 0 || walked.truth[i] == 0) << "round " << round;
            for (std::size_t k = 0; k < i; ++k) {
                if (marks[i] != marks[k]) continue;
                ASSERT_EQ(walked.truth[i], walked.truth[k]) << "round " << round;
                pairs += walked.truth[i] != 0;
            }
        }
    }
    EXPECT_GT(pairs, 500u);
}

TEST(Flow, WhereWaysMeetAgainTheMarkIsTheSameAgain) {
    // 0 -> 1 or 2 -> 3 -> 3 or 4
    const std::vector<Block> blocks = {{{}, {1, 2}, true, false},
                                       {{}, {3}, false, false},
                                       {{}, {3}, false, false},
                                       {{}, {3, 4}, false, false},
                                       {{}, {}, false, true}};
    const auto marks = Flow(blocks).marks();
    EXPECT_EQ(marks[0], marks[4]);
    EXPECT_NE(marks[0], marks[1]);
    EXPECT_NE(marks[1], marks[2]);
    EXPECT_NE(marks[0], marks[3]) << "a loop of its own";
}

TEST(Flow, CallsThatWereUnderWayDoNotBalance) {
    // 0 -> 1 or 2 -> 3
    const std::vector<Block> blocks = {{{}, {1, 2}, true, false},
                                       {{}, {3}, false, false},
                                       {{}, {3}, false, false},
                                       {{}, {}, false, true}};
    const Flow flow(blocks);
    EXPECT_THAT(flow.unbalanced({5, 2, 3, 5}), IsEmpty());
    EXPECT_THAT(flow.unbalanced({5, 2, 4, 6}), Not(IsEmpty()));
    // One more has run on either way than has come: no count is below zero.
    std::vector<Count> counts = {5, 6, std::nullopt, std::nullopt};
    flow.solve(counts);
    EXPECT_EQ(counts[2], std::nullopt);
    EXPECT_EQ(counts[3], std::nullopt);
}

TEST(Flow, AWayThatTheBlocksDoNotTellIsUnknown) {
    // 0 and 1 both lead to 2 and to 3.
    const std::vector<Block> blocks = {{{}, {2, 3}, true, false},
                                       {{}, {2, 3}, true, false},
                                       {{}, {}, false, true},
                                       {{}, {}, false, true}};
    const auto edges = solve_edges(blocks, {4, 4, 4, 4});
    EXPECT_EQ(edges[0][0], std::nullopt);
    // None came to 3: then all went to 2.
    EXPECT_EQ(solve_edges(blocks, {4, 4, 8, 0})[0], (std::vector<Count>{4, 0}));
}

}  // namespace
}  // namespace djprobe::loader
