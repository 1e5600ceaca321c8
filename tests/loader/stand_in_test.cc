// SPDX-License-Identifier: GPL-2.0
#include "blocks/stand_in.h"

#include <algorithm>
#include <optional>
#include <random>

#include "blocks/flow_facts.h"
#include "whole_kernel.h"

namespace djprobe::loader {
namespace {

// Walks through a function at random: how often has each block run?
class Walks {
  public:
    Walks(const TextMap& map, std::size_t function) {
        Refusal refused = find_flow_facts(map, function, facts_);
        if (!refused) blocks_ = find_blocks(facts_, refused);
    }
    // As often as the instructions of its block.
    [[nodiscard]] std::uint64_t count(std::uint64_t address) const {
        return counts_.at(find_block(blocks_, address));
    }
    void run(std::mt19937& random) {
        counts_.assign(blocks_.size(), 0);
        std::vector<std::size_t> entries;
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            if (blocks_[i].arrives) entries.push_back(i);
        for (int call = 0; call < 200; ++call)
            walk(entries[random() % entries.size()], random);
    }

    // In calls that come to no block a second time.
    bool come_to_both(std::uint64_t one, std::uint64_t two, std::mt19937& random) const {
        for (int call = 0; call < 20; ++call) {
            std::vector<bool> seen(blocks_.size());
            std::size_t at = 0;
            while (!seen[at]) {
                seen[at] = true;
                const std::vector<std::size_t>& next = blocks_[at].next;
                if (!next.empty()) at = next[random() % next.size()];
            }
            if (seen[find_block(blocks_, one)] && seen[find_block(blocks_, two)]) return true;
        }
        return false;
    }

    // What changes on the way from one instruction to another. None: the walk did not come there
    // before it left, or came to the first one again, or to another stand-in.
    std::optional<x86::RegisterSet> changed(std::uint64_t from, std::uint64_t to,
                                            const std::vector<StandIn>& all,
                                            std::mt19937& random) const {
        x86::RegisterSet writes = 0;
        bool begun = false;
        std::size_t at = find_block(blocks_, from);
        for (int step = 0; step < 200; ++step) {
            const Block& block = blocks_.at(at);
            for (const x86::Insn& insn : insns_of(block, facts_.parts)) {
                if (insn.address == to && begun) return writes;
                const bool is_other =
                    std::ranges::find(all, insn.address, &StandIn::address) != all.end();
                if (begun && (insn.address == from || is_other)) return std::nullopt;
                begun |= insn.address == from;
                if (begun) writes |= changes_of(insn);
            }
            const std::size_t way = random() % (block.next.size() + (block.leaves ? 1 : 0));
            if (way == block.next.size()) return std::nullopt;
            at = block.next[way];
        }
        return std::nullopt;
    }

  private:
    [[nodiscard]] x86::RegisterSet changes_of(const x86::Insn& insn) const {
        if (insn.is_call()) return x86::kCallerSaved;
        if (insn.kind != x86::Kind::Plain && insn.kind != x86::Kind::CounterJump) return 0;
        for (const Code& part : facts_.parts)
            if (part.range().contains(insn.address))
                return x86::find_effects(insn, part.from(insn.address)).writes;
        return x86::kAllRegisters;
    }

    // One that finds no way out counts as no call at all.
    void walk(std::size_t at, std::mt19937& random) {
        std::vector<std::uint64_t> counts = counts_;
        for (int step = 0; step < 2000; ++step) {
            ++counts[at];
            const Block& block = blocks_[at];
            const std::size_t way = random() % (block.next.size() + (block.leaves ? 1 : 0));
            if (way == block.next.size()) {
                counts_ = std::move(counts);
                return;
            }
            at = block.next[way];
        }
    }

    FlowFacts facts_;
    std::vector<Block> blocks_;
    std::vector<std::uint64_t> counts_;
};

class StandIn_ : public WholeKernel {
  protected:
    const KernelImage image_ = read_kernel();
    const TextFacts facts_ = read_facts(image_);
    const TextMap map_{image_, facts_};
    StandIns stand_ins_{map_};
    std::mt19937 random_{11};
    unsigned seen_ = 0;  // stand-ins to or from which a walk came

    // Straight on from it to the instruction that is meant no register changes but those that it
    // names.
    void expect_names_of_what_is_changed() {
        unsigned seen = 0;
        for (const x86::Reserved& owned : facts_.reserved) {
            const std::uint64_t site = owned.range.begin;
            const std::size_t function = map_.find(site);
            if (owned.reason != Reason::JUMP_LABEL || function == map_.functions().size()) continue;
            const std::vector<StandIn> found = stand_ins_.find(function, site);
            if (found.size() != 1 || found.front().address > site ||
                site - found.front().address > 16)
                continue;
            x86::RegisterSet writes = 0;
            std::uint64_t at = found.front().address;
            for (x86::Insn insn; at < site; at = insn.end()) {
                const auto bytes = map_.functions()[function].code.from(at);
                ASSERT_TRUE(x86::decode(bytes, at, insn));
                writes |= x86::find_effects(insn, bytes).writes;
            }
            if (at != site || !map_.arrivals({found.front().address + 1, site + 1}).empty())
                continue;
            ++seen;
            EXPECT_EQ(found.front().writes, writes) << map_.describe(site);
        }
        EXPECT_GT(seen, 100U);
    }
    void expect_static_calls_to_be_behind() {
        unsigned served = 0;
        for (const x86::Reserved& owned : facts_.reserved) {
            if (owned.reason != Reason::STATIC_CALL || random_() % 16 != 0) continue;
            const std::uint64_t call = owned.range.begin;
            const std::size_t function = map_.find(call);
            if (function == map_.functions().size()) continue;
            const std::vector<StandIn> found = stand_ins_.find(function, call);
            if (found.size() != 1 || found.front().address < call) continue;
            EXPECT_TRUE(found.front().writes_memory) << map_.describe(call);
            EXPECT_EQ(found.front().writes & x86::kCallerSaved, x86::kCallerSaved);
            served += run_as_often(call);
        }
        EXPECT_GT(served, 20U);
    }
    // A walk may end at a WARN, as at a BUG.
    [[nodiscard]] bool is_trap(std::uint64_t site) const {
        x86::Insn insn;
        const Code& code = map_.functions()[map_.find(site)].code;
        return x86::decode(code.from(site), site, insn) && insn.kind == x86::Kind::Trap;
    }
    // True: there are some.
    bool run_as_often(std::uint64_t site) {
        const std::size_t function = map_.find(site);
        if (function == map_.functions().size()) return false;
        const std::vector<StandIn> found = stand_ins_.find(function, site);
        if (found.empty() || site < map_.entry(function) || is_trap(site)) return false;
        Walks walks(map_, function);
        walks.run(random_);
        std::uint64_t sum = 0;
        for (const StandIn& one : found) {
            x86::Plan plan;
            EXPECT_FALSE(map_.plan(function, one.address, plan)) << map_.describe(one.address);
            EXPECT_EQ(plan.may_jump(), one.by_jump) << map_.describe(one.address);
            sum += walks.count(one.address);
        }
        EXPECT_EQ(sum, walks.count(site)) << map_.describe(site);
        for (const StandIn& one : found)
            expect_names_of_changes(walks, site, one, found);
        return true;
    }
    // Whichever comes first, no register changes on the way but those that it names.
    void expect_names_of_changes(const Walks& walks, std::uint64_t site, const StandIn& one,
                                 const std::vector<StandIn>& all) {
        enum class Names { kUnseen, kAll, kTooFew };
        const auto look = [&](std::uint64_t from, std::uint64_t to) {
            Names names = Names::kUnseen;
            for (int i = 0; i < 10; ++i) {
                const auto changed = walks.changed(from, to, all, random_);
                if (!changed) continue;
                if ((*changed & ~one.writes) != 0) return Names::kTooFew;
                names = Names::kAll;
            }
            return names;
        };
        const Names behind = look(site, one.address), before = look(one.address, site);
        seen_ += behind == Names::kAll || before == Names::kAll;
        if (behind == Names::kAll || before == Names::kAll) return;
        EXPECT_TRUE(behind == Names::kUnseen && before == Names::kUnseen)
            << map_.describe(site) << ", " << map_.describe(one.address);
    }
};

TEST_F(StandIn_, ForALabelRunsAsOften) {
    unsigned labels = 0, served = 0;
    for (const x86::Reserved& owned : facts_.reserved) {
        if (owned.reason != Reason::JUMP_LABEL || random_() % 4 != 0) continue;
        ++labels;
        served += run_as_often(owned.range.begin);
    }
    EXPECT_GT(served, 300U);
    EXPECT_GT(served * 3, labels * 2) << "most labels have some";
    expect_names_of_what_is_changed();
}

// Of those that get no jump, or are refused, as of all others.
TEST_F(StandIn_, ForAnyInstructionRunsAsOften) {
    unsigned served = 0;
    for (std::size_t function = 0; function < map_.functions().size(); ++function) {
        const Code& code = map_.functions()[function].code;
        if (random_() % 40 != 0 || map_.forbidden(function) || code.bytes.empty()) continue;
        for (std::uint64_t at = code.address; at < map_.functions()[function].real_end; ++at)
            if (map_.is_insn_start(at) && random_() % 8 == 0) served += run_as_often(at);
    }
    EXPECT_GT(served, 2000U);
    EXPECT_GT(seen_, served / 2);
    expect_static_calls_to_be_behind();
}

// As one other, or as two together: the two ways on behind a branch, for instance.
TEST_F(StandIn_, OthersThatRunAsOftenAreKnown) {
    unsigned pairs = 0, sums = 0, behind = 0, before = 0, instead = 0;
    for (std::size_t function = 0; function < map_.functions().size(); ++function) {
        const Code& code = map_.functions()[function].code;
        if (random_() % 40 != 0 || map_.forbidden(function) || code.bytes.empty()) continue;
        FlowFacts facts;
        Refusal refused = find_flow_facts(map_, function, facts);
        if (refused) continue;
        const std::vector<Block> blocks = find_blocks(facts, refused);
        if (blocks.size() < 3) continue;
        Walks walks(map_, function);
        walks.run(random_);
        const auto some = [&] { return blocks[random_() % blocks.size()].range.begin; };
        const auto expect = [&](std::uint64_t site, const std::vector<std::uint64_t>& others) {
            if (!stand_ins_.runs_as_often(function, site, others)) return 0U;
            std::uint64_t sum = 0;
            for (const std::uint64_t other : others)
                sum += walks.count(other);
            EXPECT_EQ(sum, walks.count(site)) << map_.describe(site);
            return 1U;
        };
        for (int i = 0; i < 20; ++i)
            pairs += expect(some(), {some()});
        for (const Block& block : blocks)
            if (block.next.size() == 2)
                sums += expect(block.range.begin, {blocks[block.next[0]].range.begin,
                                                   blocks[block.next[1]].range.begin});
        for (int i = 0; i < 20; ++i) {
            const std::uint64_t site = some(), by = some();
            const bool comes_by = stand_ins_.comes_by(function, site, by);
            const bool leads_to = stand_ins_.leads_to(function, site, by);
            if (site == by || !(comes_by || leads_to)) continue;
            behind += comes_by;
            before += leads_to;
            EXPECT_LE(walks.count(site), walks.count(by)) << map_.describe(site);
        }
        for (int i = 0; i < 20; ++i) {
            const std::uint64_t one = some(), two = some();
            if (!stand_ins_.runs_instead_of(function, one, two)) continue;
            ++instead;
            EXPECT_FALSE(stand_ins_.comes_by(function, one, two)) << map_.describe(one);
            EXPECT_FALSE(stand_ins_.leads_to(function, one, two)) << map_.describe(one);
            EXPECT_TRUE(stand_ins_.runs_instead_of(function, two, one)) << map_.describe(one);
            EXPECT_FALSE(walks.come_to_both(one, two, random_)) << map_.describe(one);
        }
        EXPECT_FALSE(stand_ins_.runs_as_often(function, some(), {}));
        EXPECT_FALSE(stand_ins_.runs_as_often(function, some(), {code.address - 1}));
    }
    EXPECT_GT(pairs, 500U);
    EXPECT_GT(sums, 500U);
    EXPECT_GT(behind, 500U);
    EXPECT_GT(before, 500U);
    EXPECT_GT(instead, 500U);
}

TEST_F(StandIn_, ForAnEndbrAndAWarningIsBehindIt) {
    const std::uint64_t address = image_.require("vfs_read");
    const std::size_t function = map_.find(address);
    const std::vector<StandIn> found = stand_ins_.find(function, address);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().address, map_.entry(function));
    EXPECT_EQ(found.front().writes, 0);
    unsigned seen = 0;
    for (std::size_t function = 0; function < map_.functions().size(); ++function) {
        const TextMap::Function& one = map_.functions()[function];
        if (map_.forbidden(function) || random_() % 4 != 0) continue;
        for (std::uint64_t at = one.code.address; at < one.real_end; ++at) {
            if (!map_.is_insn_start(at) || !is_trap(at)) continue;
            for (const StandIn& found : stand_ins_.find(function, at)) {
                if (found.address < at) continue;
                ++seen;
                EXPECT_TRUE(map_.arrivals({found.address, found.address + 1}).empty())
                    << map_.describe(at);
            }
        }
    }
    EXPECT_GT(seen, 100U);
}

}  // namespace
}  // namespace djprobe::loader
