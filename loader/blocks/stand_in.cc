// SPDX-License-Identifier: GPL-2.0
#include "blocks/stand_in.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <optional>

#include "blocks/flow.h"
#include "blocks/flow_facts.h"

namespace djprobe::loader {
namespace {

using x86::Insn;
using x86::Kind;
using x86::Reserved;

// Far enough for what sets up a call's arguments.
constexpr int kMostBefore = 8;
// As far behind a way that meets the straight one again.
constexpr int kMostBehind = 8;
constexpr std::uint64_t kNear = 256;
// In a row, each of which has two ways on.
constexpr int kMostSplits = 3;
constexpr std::size_t kMostWaysIn = 8;

bool writes_memory(Span<const u8> bytes) {
    ZydisDecoder decoder;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &insn, operands)))
        return true;
    return std::any_of(operands, operands + insn.operand_count, [](const auto& operand) {
        return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
               (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    });
}

// A branch by flags changes nothing, nor does a label, whichever way it goes.
bool changes_nothing(Kind kind) {
    return kind == Kind::Nop || kind == Kind::Endbr || kind == Kind::Jump || kind == Kind::CondJump;
}

// What instructions change.
struct Changes {
    x86::RegisterSet writes = 0;
    bool memory = false;
    bool calls = false;

    void add(const Insn& insn, const FlowFacts& facts) {
        // A static call may be a nop now, and a call as soon as the kernel wants it.
        if (insn.is_call() || std::ranges::count(facts.returning, insn.address) != 0) {
            writes |= x86::kCallerSaved;
            memory = calls = true;
        } else if (!changes_nothing(insn.kind)) {
            const Span<const u8> bytes = bytes_of(insn, facts.parts);
            writes |= x86::find_effects(insn, bytes).writes;
            memory |= insn.kind != Kind::Plain || writes_memory(bytes);
        }
    }
    void add(const Block& block, const FlowFacts& facts) {
        for_each_insn_of(block, facts.parts, [&](const Insn& insn) {
            add(insn, facts);
            return true;
        });
    }

  private:
    static Span<const u8> bytes_of(const Insn& insn, const std::vector<Code>& parts) {
        for (const Code& part : parts)
            if (part.range().contains(insn.address))
                return part.from(insn.address).first(insn.length);
        return {};
    }
};

bool all_by_jump(const std::vector<StandIn>& found) {
    return !found.empty() && std::ranges::all_of(found, &StandIn::by_jump);
}

// The blocks to which control may come from one, itself only in a loop. It goes past none of the
// block `end`.
std::vector<bool> reached_from(const std::vector<Block>& blocks,
                               const std::vector<std::size_t>& begin, std::size_t end) {
    std::vector<bool> reached(blocks.size());
    std::vector<std::size_t> open;
    const auto reach = [&](std::size_t block) {
        if (!reached[block] && block != end) open.push_back(block);
        reached[block] = true;
    };
    std::ranges::for_each(begin, reach);
    while (!open.empty()) {
        const std::size_t block = open.back();
        open.pop_back();
        std::ranges::for_each(blocks[block].next, reach);
    }
    return reached;
}

// Control comes to the other one by it alone. In a loop what runs as often may do so before it.
bool comes_before(const std::vector<Block>& blocks, std::size_t one, std::size_t other) {
    std::vector<std::size_t> begin;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].arrives) begin.push_back(i);
    return !reached_from(blocks, begin, one)[other];
}

// Control goes from the one to the other in any case.
bool goes_on_to(const std::vector<Block>& blocks, std::size_t one, std::size_t other) {
    const std::vector<bool> reached = reached_from(blocks, {one}, other);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (reached[i] && i != other && blocks[i].leaves) return false;
    return reached[other];
}

// Where control may come within the same call. The first block is where calls begin.
std::vector<std::size_t> ways_on(const std::vector<Block>& blocks, std::size_t from) {
    std::vector<std::size_t> ways = blocks[from].next;
    for (std::size_t i = 1; i < blocks.size(); ++i)
        if (blocks[i].arrives) ways.push_back(i);
    return ways;
}

// Control comes to the one a second time before the other one has run: it is in a loop that the
// other is not in.
bool comes_again(const std::vector<Block>& blocks, std::size_t one, std::size_t other) {
    return reached_from(blocks, ways_on(blocks, one), other)[one];
}

class Finder {
  public:
    Finder(const TextMap& map, std::size_t function, const StandIns::Graph& graph,
           std::uint64_t site)
        : map_(map),
          index_(function),
          code_(map.functions()[function].code),
          graph_(graph),
          site_(site) {}

    std::vector<StandIn> find() const {
        const std::uint64_t entry = map_.entry(index_);
        if (site_ < entry) return behind_entry(entry);
        std::vector<StandIn> best;
        for (const auto look :
             {&Finder::behind_label, &Finder::before, &Finder::behind, &Finder::behind_warning,
              &Finder::before_ways_that_meet, &Finder::on_each_way_out, &Finder::on_each_way_in}) {
            auto found = (this->*look)();
            if (all_by_jump(found)) return found;
            if (best.empty()) best = std::move(found);
        }
        return best;
    }

  private:
    [[nodiscard]] std::optional<Insn> insn_at(std::uint64_t address) const {
        Insn insn;
        if (!code_.range().contains(address) || !map_.is_insn_start(address)) return std::nullopt;
        if (!x86::decode(code_.from(address), address, insn)) return std::nullopt;
        return insn;
    }
    [[nodiscard]] std::optional<Insn> insn_before(std::uint64_t address) const {
        std::uint64_t at = address;
        while (at > code_.address && !map_.is_insn_start(--at)) {
        }
        if (at == address) return std::nullopt;
        const auto insn = insn_at(at);
        return insn && insn->end() == address ? insn : std::nullopt;
    }
    // Other than by falling through.
    [[nodiscard]] bool is_arrived_at(std::uint64_t address) const {
        return !map_.arrivals({address, address + 1}).empty();
    }
    [[nodiscard]] std::optional<StandIn> probe_at(std::uint64_t address) const {
        x86::Plan plan;
        if (!insn_at(address) || map_.plan(index_, address, plan)) return std::nullopt;
        return StandIn{address, 0, false, plan.may_jump()};
    }

    [[nodiscard]] std::vector<StandIn> behind_entry(std::uint64_t entry) const {
        if (is_arrived_at(entry)) return {};
        if (const auto one = probe_at(entry)) return {*one};
        return {};
    }

    // It changes nothing.
    [[nodiscard]] std::vector<StandIn> behind_label() const {
        const Reserved* const owner =
            TextMap::Surroundings(map_, index_).reserved({site_, site_ + 1});
        const bool is_label =
            owner && owner->reason == Reason::JUMP_LABEL && owner->range.begin == site_;
        return is_label ? on_each_way_out() : std::vector<StandIn>();
    }

    // Control leaves a block one way or the other, where another block may end so again.
    [[nodiscard]] std::vector<StandIn> on_each_way_out() const {
        const std::size_t own = own_block();
        if (own == graph_.blocks.size()) return {};
        return on_ways_from(own, site_, {}, kMostSplits);
    }
    [[nodiscard]] std::vector<StandIn> on_ways_from(std::size_t from, std::uint64_t begin,
                                                    Changes changes, int splits) const {
        const Block& block = graph_.blocks[from];
        std::optional<StandIn> nearest;
        if (take_first(block, begin, changes, nearest)) return list(nearest);
        if (splits == 0 || block.leaves || block.next.empty()) return list(nearest);
        std::vector<StandIn> found;
        for (const std::size_t next : block.next) {
            if (graph_.blocks[next].arrives || ways_in(next).size() != 1) return list(nearest);
            const auto more =
                on_ways_from(next, graph_.blocks[next].range.begin, changes, splits - 1);
            if (more.empty()) return list(nearest);
            found.insert(found.end(), more.begin(), more.end());
        }
        return found;
    }

    // Blocks that lead nowhere else. Not before a call, as above.
    [[nodiscard]] std::vector<StandIn> on_each_way_in() const {
        const std::size_t own = own_block();
        if (own == graph_.blocks.size() || graph_.blocks[own].arrives) return {};
        const Changes changes = changes_before_site(own);
        std::vector<StandIn> found;
        for (const std::size_t before : ways_in(own)) {
            const Block& block = graph_.blocks[before];
            std::optional<StandIn> nearest;
            Changes between = changes;
            if (block.next.size() == 1 && !block.leaves) take_last(block, between, nearest);
            if (!nearest || found.size() == kMostWaysIn) return {};
            found.push_back(*nearest);
        }
        return found;
    }
    [[nodiscard]] std::vector<std::size_t> ways_in(std::size_t to) const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < graph_.blocks.size(); ++i)
            if (std::ranges::count(graph_.blocks[i].next, to) != 0) found.push_back(i);
        return found;
    }

    // The nearest one that gets a jump, else the nearest.
    [[nodiscard]] std::vector<StandIn> before() const {
        std::optional<StandIn> nearest;
        Changes changes;
        std::uint64_t at = site_;
        for (int i = 0; i < kMostBefore && !is_arrived_at(at); ++i) {
            const auto insn = insn_before(at);
            if (!insn || (insn->kind != Kind::Plain && insn->kind != Kind::Nop)) break;
            if (is_owned(*insn)) break;
            at = insn->address;
            changes.add(*insn, graph_.facts);
            if (take(at, changes, nearest)) break;
        }
        return list(nearest);
    }
    static std::vector<StandIn> list(const std::optional<StandIn>& one) {
        return one ? std::vector{*one} : std::vector<StandIn>();
    }
    // True: none is better.
    bool take(std::uint64_t at, const Changes& changes, std::optional<StandIn>& nearest) const {
        const auto found = probe_at(at);
        if (found && (!nearest || found->by_jump))
            nearest = StandIn{at, changes.writes, changes.memory, found->by_jump};
        return nearest && nearest->by_jump;
    }

    // A WARN resumes behind its ud2. What nothing else leads to runs only then.
    [[nodiscard]] std::vector<StandIn> behind_warning() const {
        const auto insn = insn_at(site_);
        if (!insn || insn->kind != Kind::Trap || is_arrived_at(insn->end())) return {};
        // A nop pads what does not come back, as a BUG.
        const auto next = insn_at(insn->end());
        return next && next->kind != Kind::Nop ? list(probe_at(next->address))
                                               : std::vector<StandIn>();
    }

    // In the rest of its block, or in one near by to which control comes from it in any case.
    [[nodiscard]] std::vector<StandIn> behind() const {
        const std::size_t own = own_block();
        if (own == graph_.blocks.size()) return {};
        std::optional<StandIn> nearest;
        Changes changes;
        if (take_first(graph_.blocks[own], site_, changes, nearest)) return list(nearest);
        for (const std::size_t block : like(own)) {
            if (!comes_before(graph_.blocks, own, block)) continue;
            Changes between = changes;
            add_between(own, block, between);
            if (take_first(graph_.blocks[block], graph_.blocks[block].range.begin, between,
                           nearest))
                break;
        }
        return list(nearest);
    }
    bool take_first(const Block& block, std::uint64_t from, Changes& changes,
                    std::optional<StandIn>& nearest) const {
        int tries = 0;
        for_each_insn_of(block, graph_.facts.parts, [&](const Insn& insn) {
            if (insn.address < from) return true;
            // All that lies behind the last try is still between the site and the next block.
            const bool tried = insn.address != site_ && tries++ < kMostBehind;
            if (tried && take(insn.address, changes, nearest)) return false;
            changes.add(insn, graph_.facts);
            return true;
        });
        return nearest && nearest->by_jump;
    }

    // At the end of a block from which control comes to it in any case, but not before a call: what
    // that does belongs before the site.
    [[nodiscard]] std::vector<StandIn> before_ways_that_meet() const {
        const std::size_t own = own_block();
        if (own == graph_.blocks.size()) return {};
        std::optional<StandIn> nearest;
        const Changes changes = changes_before_site(own);
        for (const std::size_t block : like(own)) {
            if (!comes_before(graph_.blocks, block, own)) continue;
            Changes between = changes;
            add_between(block, own, between);
            if (take_last(graph_.blocks[block], between, nearest)) break;
        }
        return list(nearest);
    }
    [[nodiscard]] Changes changes_before_site(std::size_t own) const {
        Changes changes;
        for_each_insn_of(graph_.blocks[own], graph_.facts.parts, [&](const Insn& insn) {
            if (insn.address < site_) changes.add(insn, graph_.facts);
            return insn.address < site_;
        });
        return changes;
    }
    bool take_last(const Block& block, Changes& changes, std::optional<StandIn>& nearest) const {
        const std::vector<Insn> insns = insns_of(block, graph_.facts.parts);
        int tries = 0;
        for (auto insn = insns.rbegin(); insn != insns.rend() && tries++ < kMostBefore; ++insn) {
            changes.add(*insn, graph_.facts);
            if (changes.calls) break;
            if (take(insn->address, changes, nearest)) return true;
        }
        return false;
    }

    [[nodiscard]] std::size_t own_block() const { return find_block(graph_.blocks, site_); }
    // Those near by that run as often, the nearest first.
    [[nodiscard]] std::vector<std::size_t> like(std::size_t own) const {
        const std::uint64_t mark = graph_.marks[own];
        const auto distance = [&](std::size_t block) {
            const std::uint64_t at = graph_.blocks[block].range.begin;
            return at < site_ ? site_ - at : at - site_;
        };
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < graph_.blocks.size(); ++i)
            if (mark != 0 && i != own && graph_.marks[i] == mark && distance(i) < kNear)
                found.push_back(i);
        std::ranges::stable_sort(found, {}, distance);
        return found;
    }
    void add_between(std::size_t from, std::size_t to, Changes& changes) const {
        const std::vector<bool> reached = reached_from(graph_.blocks, graph_.blocks[from].next, to);
        for (std::size_t i = 0; i < graph_.blocks.size(); ++i)
            if (i != to && reached[i]) changes.add(graph_.blocks[i], graph_.facts);
    }
    // A jump label that is off looks like a nop.
    [[nodiscard]] bool is_owned(const Insn& insn) const {
        return TextMap::Surroundings(map_, index_).reserved({insn.address, insn.end()}) != nullptr;
    }

    const TextMap& map_;
    std::size_t index_;
    Code code_;
    const StandIns::Graph& graph_;
    std::uint64_t site_;
};

}  // namespace

const StandIns::Graph& StandIns::graph_of(std::size_t function) {
    if (known_ == function) return graph_;
    known_ = function;
    graph_ = {};
    Refusal refused = find_flow_facts(map_, function, graph_.facts);
    if (!refused) graph_.blocks = find_blocks(graph_.facts, refused);
    graph_.marks = Flow(graph_.blocks).marks();
    return graph_;
}

std::vector<StandIn> StandIns::find(std::size_t function, std::uint64_t site) {
    return Finder(map_, function, graph_of(function), site).find();
}

bool StandIns::runs_as_often(std::size_t function, std::uint64_t site,
                             const std::vector<std::uint64_t>& others) {
    const Graph& graph = graph_of(function);
    const auto mark_at = [&](std::uint64_t address) -> std::uint64_t {
        const std::size_t block = find_block(graph.blocks, address);
        return block == graph.blocks.size() ? 0 : graph.marks[block];
    };
    // What goes in comes out: marks add up where counts do.
    std::uint64_t together = 0;
    for (const std::uint64_t other : others) {
        const std::uint64_t mark = mark_at(other);
        if (mark == 0) return false;
        together += mark;
    }
    const std::uint64_t own = mark_at(site);
    return own != 0 && own == together;
}

bool StandIns::comes_by(std::size_t function, std::uint64_t site, std::uint64_t other) {
    const std::vector<Block>& blocks = graph_of(function).blocks;
    const std::size_t own = find_block(blocks, site), by = find_block(blocks, other);
    if (own == blocks.size() || by == blocks.size()) return false;
    if (own == by) return other < site;
    return comes_before(blocks, by, own) && !comes_again(blocks, own, by);
}

bool StandIns::leads_to(std::size_t function, std::uint64_t site, std::uint64_t other) {
    const std::vector<Block>& blocks = graph_of(function).blocks;
    const std::size_t own = find_block(blocks, site), to = find_block(blocks, other);
    if (own == blocks.size() || to == blocks.size()) return false;
    if (own == to) return site < other;
    return goes_on_to(blocks, own, to) && !comes_again(blocks, own, to);
}

bool StandIns::runs_instead_of(std::size_t function, std::uint64_t site, std::uint64_t other) {
    const std::vector<Block>& blocks = graph_of(function).blocks;
    const std::size_t one = find_block(blocks, site), two = find_block(blocks, other);
    if (one == two || one == blocks.size() || two == blocks.size()) return false;
    const auto parts_them = [&](std::size_t fork) {
        return fork != one && fork != two && blocks[fork].next.size() > 1 &&
               comes_before(blocks, fork, one) && comes_before(blocks, fork, two) &&
               !reached_from(blocks, ways_on(blocks, one), fork)[two] &&
               !reached_from(blocks, ways_on(blocks, two), fork)[one];
    };
    for (std::size_t fork = 0; fork < blocks.size(); ++fork)
        if (parts_them(fork)) return true;
    return false;
}

}  // namespace djprobe::loader
