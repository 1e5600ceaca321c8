// SPDX-License-Identifier: GPL-2.0
#include "blocks/flow.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace djprobe::loader {
namespace {

// Sets that grow together.
class Sets {
  public:
    explicit Sets(std::size_t size) : parent_(size) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }
    std::size_t find(std::size_t one) {
        while (parent_[one] != one)
            one = parent_[one] = parent_[parent_[one]];
        return one;
    }
    // False: they were one already. The lower number stands for both.
    bool join(std::size_t a, std::size_t b) {
        a = find(a);
        b = find(b);
        parent_[std::max(a, b)] = std::min(a, b);
        return a != b;
    }

  private:
    std::vector<std::size_t> parent_;
};

// An unknown way between two sums, or out of one of them.
struct Way {
    std::size_t block, next;
};

// Ways that leave a block, or that arrive at one: they add up to the block's count.
struct Sum {
    Count left;  // for those that are not known
    std::vector<Way> open;
    bool whole;  // no way leads elsewhere
};

class Ways {
  public:
    Ways(const std::vector<Block>& blocks, const std::vector<Count>& counts)
        : blocks_(blocks), found_(blocks.size()), sums_(2 * blocks.size()) {
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            sums_[2 * i] = {counts[i], {}, !blocks[i].leaves};
            sums_[2 * i + 1] = {counts[i], {}, !blocks[i].arrives};
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            found_[i].resize(blocks[i].next.size());
            for (std::size_t n = 0; n < blocks[i].next.size(); ++n) {
                sums_[2 * i].open.push_back({i, n});
                sums_[2 * blocks[i].next[n] + 1].open.push_back({i, n});
            }
        }
    }

    std::vector<std::vector<Count>> solve() {
        for (bool more = true; more;) {
            more = false;
            for (Sum& sum : sums_)
                more |= settle(sum);
        }
        return std::move(found_);
    }

  private:
    bool settle(Sum& sum) {
        if (sum.open.empty() || !sum.left) return false;
        // Where nothing is left no way was gone, not even one that leads elsewhere.
        if (*sum.left != 0 && (!sum.whole || sum.open.size() > 1)) return false;
        const Way way = sum.open.front();
        const std::uint64_t count = *sum.left;
        found_[way.block][way.next] = count;
        take(sums_[2 * way.block], way, count);
        take(sums_[2 * blocks_[way.block].next[way.next] + 1], way, count);
        return true;
    }

    static void take(Sum& sum, Way way, std::uint64_t count) {
        std::erase_if(sum.open, [&](const Way& one) {
            return one.block == way.block && one.next == way.next;
        });
        // Calls were under way: what is left is not known.
        if (sum.left && *sum.left < count) sum.left.reset();
        if (sum.left) *sum.left -= count;
    }

    const std::vector<Block>& blocks_;
    std::vector<std::vector<Count>> found_;
    std::vector<Sum> sums_;
};

}  // namespace

Flow::Flow(const std::vector<Block>& blocks) : ends_(blocks.size()) {
    // Each block's begin and end, behind what lies outside.
    const auto begin = [](std::size_t block) { return 2 * block + 1; };
    const auto end = [](std::size_t block) { return 2 * block + 2; };
    Sets points(2 * blocks.size() + 1);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i].arrives) points.join(0, begin(i));
        if (blocks[i].leaves) points.join(0, end(i));
        for (const std::size_t next : blocks[i].next)
            points.join(end(i), begin(next));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i)
        ends_[i] = {points.find(begin(i)), points.find(end(i))};
    junctions_ = 2 * blocks.size() + 1;
}

std::vector<bool> Flow::choose(const std::vector<unsigned>& costs) const {
    std::vector<std::size_t> order(ends_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t block) { return costs[block]; });
    Sets tree(junctions_);
    std::vector<bool> chosen(ends_.size());
    for (const std::size_t block : order)
        chosen[block] = !tree.join(ends_[block].from, ends_[block].to);
    return chosen;
}

struct Flow::Sums {
    std::uint64_t begun = 0, ended = 0;  // blocks whose counts are known
    std::vector<std::size_t> unknown;
};

std::vector<Flow::Sums> Flow::sum(const std::vector<Count>& counts) const {
    std::vector<Sums> sums(junctions_);
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        const auto [from, to] = ends_[i];
        if (counts[i]) {
            sums[from].begun += *counts[i];
            sums[to].ended += *counts[i];
        } else if (from != to) {
            sums[from].unknown.push_back(i);
            sums[to].unknown.push_back(i);
        }
    }
    return sums;
}

void Flow::solve(std::vector<Count>& counts) const {
    solve(counts, Below::kUnknown);
}

void Flow::solve(std::vector<Count>& counts, Below below) const {
    std::vector<Sums> sums = sum(counts);
    std::vector<std::size_t> ready;
    const auto note = [&](std::size_t junction) {
        if (junction != 0 && sums[junction].unknown.size() == 1) ready.push_back(junction);
    };
    for (std::size_t i = 0; i < junctions_; ++i)
        note(i);
    while (!ready.empty()) {
        const std::size_t junction = ready.back();
        ready.pop_back();
        const Sums here = sums[junction];
        if (here.unknown.empty()) continue;
        const std::size_t block = here.unknown.front();
        const auto [from, to] = ends_[block];
        const bool begins = from == junction;
        const bool is_below = begins ? here.ended < here.begun : here.begun < here.ended;
        if (is_below && below == Below::kUnknown) continue;
        const std::uint64_t count = begins ? here.ended - here.begun : here.begun - here.ended;
        counts[block] = count;
        sums[from].begun += count;
        sums[to].ended += count;
        for (const std::size_t end : {from, to}) {
            std::erase(sums[end].unknown, block);
            note(end);
        }
    }
}

std::vector<std::size_t> Flow::unbalanced(const std::vector<Count>& counts) const {
    const std::vector<Sums> sums = sum(counts);
    const auto is_off = [&](std::size_t junction) {
        const Sums& at = sums[junction];
        return junction != 0 && at.unknown.empty() && at.begun != at.ended;
    };
    std::vector<std::size_t> blocks;
    for (std::size_t i = 0; i < ends_.size(); ++i)
        if (is_off(ends_[i].from) || is_off(ends_[i].to)) blocks.push_back(i);
    return blocks;
}

// The counts of a tree's blocks are sums and differences of the others'. With a random number for
// each of those, in arithmetic that wraps, the same sum is the same number.
std::vector<std::uint64_t> Flow::marks() const {
    std::mt19937_64 random;  // the same numbers in each run
    const std::vector<bool> chosen = choose(std::vector<unsigned>(ends_.size()));
    std::vector<Count> counts(ends_.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (chosen[i]) counts[i] = random();
    solve(counts, Below::kWraps);
    std::vector<std::uint64_t> marks;
    marks.reserve(counts.size());
    for (const Count& count : counts)
        marks.push_back(count.value_or(0));
    return marks;
}

std::vector<std::vector<Count>> solve_edges(const std::vector<Block>& blocks,
                                            const std::vector<Count>& counts) {
    return Ways(blocks, counts).solve();
}

std::vector<unsigned> loop_weights(const std::vector<Block>& blocks) {
    std::vector<unsigned> weights(blocks.size(), 1);
    for (std::size_t from = 0; from < blocks.size(); ++from)
        for (const std::size_t to : blocks[from].next)
            for (std::size_t i = to; i <= from; ++i)
                weights[i] = std::min(weights[i] * 8, 512u);
    return weights;
}

}  // namespace djprobe::loader
