// SPDX-License-Identifier: GPL-2.0
#include "blocks/flow_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "../../arch/x86/insn/scan.h"

namespace djprobe::loader {
namespace {

using x86::Insn;
using x86::Kind;
using x86::Landing;

class Builder {
  public:
    explicit Builder(const FlowFacts& facts)
        : facts_(facts),
          faults_(facts.faults.begin(), facts.faults.end()),
          returning_(facts.returning.begin(), facts.returning.end()) {
        for (const Landing& landing : facts.landings)
            if (landing.reason == Reason::LABEL_INTO_REGION && is_inside(landing.source))
                labels_.emplace(landing.source, landing.target);
    }

    std::vector<Block> run(Refusal& refused) {
        for (const Code& part : facts_.parts) {
            refused = x86::for_each_insn(part, part.range().end, [&](const Insn& insn) {
                insns_.push_back(insn);
                return true;
            });
            if (refused) return {};
        }
        if (insns_.empty()) return {};
        find_heads();
        for (std::size_t i = 0; i < insns_.size();)
            i = add_block(i);
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            link(i);
        drop_unreachable();
        refused = find_foreign();
        return std::move(blocks_);
    }

  private:
    [[nodiscard]] const Code* part_of(u64 address) const {
        for (const Code& part : facts_.parts)
            if (part.range().contains(address)) return &part;
        return nullptr;
    }
    [[nodiscard]] bool is_inside(u64 address) const { return part_of(address) != nullptr; }

    // Of the landings all but the function's own branches, which its instructions show.
    [[nodiscard]] bool is_from_elsewhere(const Landing& landing) const {
        const bool own = landing.reason == Reason::BRANCH_INTO_REGION ||
                         landing.reason == Reason::LABEL_INTO_REGION;
        return !own || !is_inside(landing.source);
    }

    [[nodiscard]] bool ends_block(const Insn& insn) const {
        switch (insn.kind) {
            case Kind::Plain:
            case Kind::Nop:
            case Kind::Call:
            case Kind::IndirectCall:
            case Kind::Endbr:
            case Kind::InterruptShadow:
                return faults_.contains(insn.address) || labels_.contains(insn.address);
            default:
                return true;
        }
    }

    void find_heads() {
        arrivals_.insert(facts_.parts.front().address);
        for (const Landing& landing : facts_.landings)
            (is_from_elsewhere(landing) ? arrivals_ : heads_).insert(landing.target);
        for (const Insn& insn : insns_) {
            if (ends_block(insn)) heads_.insert(insn.end());
            // A call into the function itself: recursion, or assembly that wants its own address.
            if (insn.rel_size) (insn.kind == Kind::Call ? arrivals_ : heads_).insert(insn.target);
        }
        for (const Code& part : facts_.parts)
            heads_.insert(part.address);
        heads_.insert(arrivals_.begin(), arrivals_.end());
    }

    // From the instruction `first` on; returns the first one behind it.
    std::size_t add_block(std::size_t first) {
        std::size_t i = first + 1;
        while (i < insns_.size() && !heads_.contains(insns_[i].address))
            ++i;
        Block block{{insns_[first].address, insns_[i - 1].end()}};
        block.arrives =
            arrivals_.contains(block.range.begin) || (facts_.jumps_anywhere && !pads(first));
        blocks_.push_back(block);
        last_.push_back(i - 1);
        return i;
    }

    // Compilers put nops and int3 between blocks.
    [[nodiscard]] bool pads(std::size_t insn) const {
        return insns_[insn].kind == Kind::Nop || insns_[insn].kind == Kind::Int3;
    }

    // A jump label looks like a nop, but the compiler puts it only where control comes.
    [[nodiscard]] bool is_padding(std::size_t insn) const {
        return insns_[insn].kind == Kind::Nop && !labels_.contains(insns_[insn].address);
    }

    // The callee may be one that does not return: then what stands behind the call is either
    // padding or a block to which control comes from elsewhere.
    [[nodiscard]] bool may_end_with_call(std::size_t last, u64 begin) const {
        while (is_padding(last) && insns_[last].address > begin)
            --last;
        return insns_[last].is_call() && !returning_.contains(insns_[last].address);
    }

    void go(std::size_t block, u64 target) {
        const std::size_t to = is_inside(target) ? find_block(blocks_, target) : blocks_.size();
        Block& from = blocks_[block];
        // No instruction begins there: it is data, or an instruction in the middle of another.
        if (to == blocks_.size() || blocks_[to].range.begin != target)
            from.leaves = true;
        else if (std::ranges::count(from.next, to) == 0)
            from.next.push_back(to);
    }

    void link(std::size_t block) {
        const Insn& insn = insns_[last_[block]];
        Block& from = blocks_[block];
        from.leaves |=
            faults_.contains(insn.address) || may_end_with_call(last_[block], from.range.begin);
        if (const auto label = labels_.find(insn.address); label != labels_.end()) {
            go(block, label->second);
            go(block, insn.end());
            return;
        }
        switch (insn.kind) {
            case Kind::Jump:
                return go(block, insn.target);
            case Kind::Return:
            case Kind::IndirectJump:
                from.leaves = true;
                return;
            case Kind::CondJump:
            case Kind::CounterJump:
                go(block, insn.target);
                break;
            case Kind::Transaction:
                from.leaves = true;
                if (insn.rel_size) go(block, insn.target);
                break;
            // A WARN resumes behind its ud2, a BUG does not.
            case Kind::Trap:
            case Kind::SystemFlow:
            case Kind::Int3:
                from.leaves = true;
                break;
            default:
                break;
        }
        go(block, insn.end());
    }

    void drop_unreachable() {
        std::vector<bool> reached(blocks_.size());
        std::vector<std::size_t> open;
        const auto reach = [&](std::size_t block) {
            if (!reached[block]) open.push_back(block);
            reached[block] = true;
        };
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            if (blocks_[i].arrives) reach(i);
        while (!open.empty()) {
            const std::size_t block = open.back();
            open.pop_back();
            std::ranges::for_each(blocks_[block].next, reach);
        }
        keep(reached);
    }

    void keep(const std::vector<bool>& kept) {
        std::vector<std::size_t> number(blocks_.size());
        std::vector<Block> left;
        left.reserve(static_cast<std::size_t>(std::ranges::count(kept, true)));
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            number[i] = left.size();
            if (kept[i]) left.push_back(std::move(blocks_[i]));
        }
        for (Block& block : left)
            for (std::size_t& next : block.next)
                next = number[next];
        blocks_ = std::move(left);
    }

    [[nodiscard]] Refusal find_foreign() const {
        for (const Insn& insn : insns_)
            if (insn.kind == Kind::Int3 && find_block(blocks_, insn.address) < blocks_.size())
                return Refusal{Reason::FOREIGN_PATCH, insn.address};
        return {};
    }

    const FlowFacts& facts_;
    std::set<u64> faults_, returning_;
    std::map<u64, u64> labels_;  // jump labels: either goes on or leads there
    std::set<u64> heads_, arrivals_;
    std::vector<Insn> insns_;
    std::vector<Block> blocks_;
    std::vector<std::size_t> last_;  // of each block its last instruction
};

}  // namespace

std::vector<Block> find_blocks(const FlowFacts& facts, Refusal& refused) {
    return Builder(facts).run(refused);
}

std::size_t find_block(const std::vector<Block>& blocks, std::uint64_t address) {
    // Few parts, each by address; they need not lie in order.
    const auto at = std::ranges::find_if(
        blocks, [&](const Block& block) { return block.range.contains(address); });
    return static_cast<std::size_t>(at - blocks.begin());
}

std::vector<Insn> insns_of(const Block& block, const std::vector<Code>& parts) {
    std::vector<Insn> insns;
    for_each_insn_of(block, parts, [&](const Insn& insn) {
        insns.push_back(insn);
        return true;
    });
    return insns;
}

}  // namespace djprobe::loader
