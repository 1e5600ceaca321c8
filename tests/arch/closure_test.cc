// SPDX-License-Identifier: GPL-2.0
#include "arch/x86/analysis/closure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::kText;
using test::view;
using testing::ElementsAre;

/// A text of functions that lie kDistance apart, named by their number.
class Graph {
  public:
    static constexpr u64 kDistance = 0x40;

    static u64 address(size_t function) { return kText + function * kDistance; }

    /// A function of `code`, then of calls, then of a ret.
    void add(size_t function, Bytes code, std::initializer_list<size_t> calls) {
        for (const size_t callee : calls)
            branch(0xe8, code, function, callee);
        code.push_back(0xc3);
        functions_[function] = code;
    }
    void add_open(size_t function, Bytes code) { functions_[function] = std::move(code); }
    void add_tail_jump(size_t function, size_t target) {
        Bytes code;
        branch(0xe9, code, function, target);
        functions_[function] = code;
    }
    void make_leaf(size_t function) { leaves_.push_back(address(function)); }

    // What find_closure() asks.
    bool function_at(u64 address, Code& out) const {
        const auto found = functions_.find((address - kText) / kDistance);
        if (found == functions_.end()) return false;
        out = {Graph::address(found->first), view(found->second)};
        return out.range().contains(address);
    }
    bool start_of(u64 address, u64& start) const {
        Code code;
        if (!function_at(address, code)) return false;
        start = code.address;
        return true;
    }
    bool is_leaf(const Code& code) const {
        return std::find(leaves_.begin(), leaves_.end(), code.address) != leaves_.end();
    }

    struct Closure {
        Refusal refusal;
        std::vector<size_t> members;  ///< numbers
    };
    Closure closure(std::vector<u64> roots, size_t room = 16) const {
        std::vector<u64> members(room);
        size_t count = 0;
        Closure result;
        result.refusal = find_closure(*this, {roots.data(), roots.size()},
                                      Span<u64>{members.data(), members.size()}, count);
        for (size_t i = 0; i < count; ++i)
            result.members.push_back((members[i] - kText) / kDistance);
        return result;
    }

  private:
    static void branch(u8 opcode, Bytes& code, size_t from, size_t to) {
        const u32 distance = static_cast<u32>(address(to) - (address(from) + code.size() + 5));
        code.push_back(opcode);
        for (int shift = 0; shift < 32; shift += 8)
            code.push_back(static_cast<u8>(distance >> shift));
    }

    std::map<size_t, Bytes> functions_;
    std::vector<u64> leaves_;
};

TEST(ClosureTest, RootWithoutCallsIsItsOwnClosure) {
    Graph graph;
    graph.add(0, {}, {});
    graph.add(1, {}, {});
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0));
}

TEST(ClosureTest, CalleesFollowBreadthFirst) {
    Graph graph;
    graph.add(0, {}, {1, 2});
    graph.add(1, {}, {3});
    graph.add(2, {}, {});
    graph.add(3, {}, {});
    const auto closure = graph.closure({Graph::address(0)});
    EXPECT_EQ(closure.refusal, Refusal());
    EXPECT_THAT(closure.members, ElementsAre(0, 1, 2, 3));
}

TEST(ClosureTest, CyclesEnd) {
    Graph graph;
    graph.add(0, {}, {1});
    graph.add(1, {}, {2, 0});
    graph.add(2, {}, {1, 2});
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0, 1, 2));
}

TEST(ClosureTest, TailJumpsCount) {
    Graph graph;
    graph.add_tail_jump(0, 1);
    graph.add(1, {}, {});
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0, 1));
}

TEST(ClosureTest, ShortTailJumpsToANeighbourCount) {
    Graph graph;
    graph.add(0, {0xeb, Graph::kDistance - 2}, {});
    graph.add(1, {}, {});
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0, 1));
}

TEST(ClosureTest, BranchIntoTheMiddleOfAFunctionBringsTheFunction) {
    Graph graph;
    graph.add(0, {0xeb, Graph::kDistance - 1}, {});
    graph.add(1, {0x90}, {});
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0, 1));
}

// The nops before a function, through which calls come where the CPU's call depth is tracked.
TEST(ClosureTest, NopsThatEndInTheNextFunctionBringIt) {
    Graph graph;
    graph.add(0, {}, {1});
    graph.add_open(1, Bytes(Graph::kDistance, 0x90));
    graph.add(2, {}, {3});
    graph.add(3, {}, {});
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0, 1, 2, 3));
}

TEST(ClosureTest, PaddingBehindTheEndOrACallThatDoesNotReturnBringsNothing) {
    for (Bytes code : {CODE("ret"), CODE("ud2"), CODE("jmp rax"), CODE("call rax")}) {
        for (const u8 padding : {0x90, 0xcc}) {
            code.resize(Graph::kDistance, padding);
            Graph graph;
            graph.add_open(0, code);
            graph.add(1, {}, {});
            EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0));
        }
    }
}

TEST(ClosureTest, BranchesWithinAFunctionBringNothing) {
    Graph graph;
    graph.add(0, CODE("1: nop; jz 1b; .byte 0xe9, 0, 0, 0, 0"), {});
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0));
}

TEST(ClosureTest, RootMayLieInsideAFunction) {
    Graph graph;
    graph.add(0, {0x90, 0x90}, {});
    EXPECT_THAT(graph.closure({Graph::address(0) + 1}).members, ElementsAre(0));
}

TEST(ClosureTest, SeveralRootsShareMembers) {
    Graph graph;
    graph.add(0, {}, {2});
    graph.add(1, {}, {2});
    graph.add(2, {}, {});
    EXPECT_THAT(graph.closure({Graph::address(0), Graph::address(1), Graph::address(0)}).members,
                ElementsAre(0, 1, 2));
}

TEST(ClosureTest, LeafBelongsButItsCalleesDoNot) {
    Graph graph;
    graph.add(0, {}, {1});
    graph.add(1, {}, {2});
    graph.add(2, {}, {});
    graph.make_leaf(1);
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0, 1));
}

TEST(ClosureTest, LeafNeedNotBeDecodable) {
    Graph graph;
    graph.add(0, {}, {1});
    graph.add(1, {0x06}, {});
    graph.make_leaf(1);
    EXPECT_EQ(graph.closure({Graph::address(0)}).refusal, Refusal());
}

TEST(ClosureTest, UnknownTargetsAreSkipped) {
    Graph graph;
    graph.add(0, {}, {9, 1});
    graph.add(1, {}, {});
    EXPECT_THAT(graph.closure({Graph::address(0)}).members, ElementsAre(0, 1));
}

TEST(ClosureTest, ExactlyEnoughRoom) {
    Graph graph;
    graph.add(0, {}, {1});
    graph.add(1, {}, {0});
    EXPECT_EQ(graph.closure({Graph::address(0)}, 2).refusal, Refusal());
}

TEST(ClosureTest, TooLittleRoomNamesTheBranch) {
    Graph graph;
    graph.add(0, {0x90}, {1});
    graph.add(1, {}, {});
    EXPECT_EQ(graph.closure({Graph::address(0)}, 1).refusal,
              Refusal(Reason::NO_MEMORY, Graph::address(0) + 1));
}

TEST(ClosureTest, TooLittleRoomForTheRoots) {
    Graph graph;
    graph.add(0, {}, {});
    graph.add(1, {}, {});
    EXPECT_EQ(graph.closure({Graph::address(0), Graph::address(1)}, 1).refusal,
              Refusal(Reason::NO_MEMORY, Graph::address(1)));
}

TEST(ClosureTest, UndecodableMemberNamesTheByte) {
    Graph graph;
    graph.add(0, {}, {1});
    graph.add(1, {0x90, 0x06}, {});
    EXPECT_EQ(graph.closure({Graph::address(0)}).refusal,
              Refusal(Reason::UNSCANNABLE, Graph::address(1) + 1));
}

}  // namespace
}  // namespace djprobe::x86
