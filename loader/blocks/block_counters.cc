// SPDX-License-Identifier: GPL-2.0
#include "blocks/block_counters.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/error.h"
#include "base/progress.h"
#include "count/counter_map.h"
#include "session/site_memory.h"

namespace djprobe::loader {
namespace {

// A block that cannot be counted must follow from others.
constexpr unsigned kImpossible = 1'000'000;
constexpr unsigned kTrap = 100;
// So that progress shows, and a stop is heard.
constexpr std::size_t kBatch = 16384;

}  // namespace

BlockCounters::BlockCounters(const std::vector<FunctionFlow>& functions, const CountingRules& rules,
                             const Device& device, Symbolizer& symbolizer, const StopSignals& stop)
    : counting_(rules.counting) {
    for (const FunctionFlow& flow : functions)
        functions_.push_back({&flow, Flow(flow.blocks), flow.places});
    attach(rules, device, symbolizer, stop);
    probe_->wait(stop);
    stop.check();
    if (counting_ != BlocksCounted::kOnce) first_ = probe_->hits();
}

std::vector<ManySite> BlockCounters::choose(const StopSignals& stop) {
    std::vector<ManySite> sites;
    for (Function& function : functions_) {
        stop.check();
        std::vector<unsigned> costs = loop_weights(function.flow->blocks);
        for (std::size_t i = 0; i < costs.size(); ++i) {
            if (!function.places[i])
                costs[i] = kImpossible;
            else if (!function.places[i]->jump)
                costs[i] *= kTrap;
        }
        const std::vector<bool> chosen = function.balance.choose(costs);
        function.counter.assign(costs.size(), std::nullopt);
        for (std::size_t i = 0; i < costs.size(); ++i) {
            if (!function.places[i] || !(counting_ != BlocksCounted::kFewest || chosen[i]))
                continue;
            function.counter[i] = sites.size();
            sites.push_back({function.places[i]->address, 0});
        }
    }
    return sites;
}

void BlockCounters::give_up(const std::vector<RefusedSite>& refused) {
    std::unordered_set<std::size_t> sites;
    for (const RefusedSite& site : refused)
        sites.insert(site.index);
    for (Function& function : functions_)
        for (std::size_t i = 0; i < function.counter.size(); ++i)
            if (function.counter[i] && sites.contains(*function.counter[i]))
                function.places[i].reset();
}

void BlockCounters::attach_most(const std::vector<ManySite>& sites, AttachRequest request,
                                std::vector<RefusedSite>& refused, const Device& device,
                                Symbolizer& symbolizer, const StopSignals& stop) {
    Progress progress("attaching to blocks", sites.size());
    for (std::size_t done = 0; done < sites.size(); done += kBatch) {
        stop.check();
        progress.at(done);
        const auto some = std::span(sites).subspan(done, std::min(kBatch, sites.size() - done));
        std::vector<RefusedSite> left;
        std::optional<Probe> probe = device.attach_most(some, request, left, symbolizer);
        request.cookie += some.size();
        for (const RefusedSite& site : left)
            refused.push_back({done + site.index, site.reason});
        if (probe && probe_)
            probe_->append(std::move(*probe));
        else if (probe)
            probe_ = std::move(probe);
    }
}

void BlockCounters::attach(const CountingRules& rules, const Device& device, Symbolizer& symbolizer,
                           const StopSignals& stop) {
    std::vector<djprobe_action> actions = task_conditions(rules.tasks);
    if (!actions.empty()) actions.push_back({DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 0});
    const unsigned once = counting_ == BlocksCounted::kOnce ? DJPROBE_ATTACH_ONCE : 0;
    while (!probe_) {
        const std::vector<ManySite> sites = choose(stop);
        if (sites.empty())
            fail(ExitCode::kRefusedSite, "{}: no block can be counted",
                 functions_.front().flow->name);
        check_site_memory(functions_.front().flow->name, "blocks", sites.size(), true);
        map_ = make_counter_map(sites.size());
        AttachRequest request{map_.get(), "", 0, rules.mode, DJPROBE_ATTACH_COUNT | once};
        request.actions = actions;
        request.pattern = functions_.front().flow->name;
        std::vector<RefusedSite> refused;
        attach_most(sites, request, refused, device, symbolizer, stop);
        // What does not follow from the others then takes more counters.
        if (refused.empty()) continue;
        give_up(refused);
        probe_.reset();
    }
}

void BlockCounters::disable() const {
    probe_->disable();
    run_out();
}

std::vector<bool> BlockCounters::counted(std::size_t function) const {
    std::vector<bool> counted;
    for (const auto& counter : functions_[function].counter)
        counted.push_back(counter.has_value());
    return counted;
}

std::vector<BlockCounts> BlockCounters::look() const {
    const std::vector<std::uint64_t> now = probe_->hits();
    std::vector<BlockCounts> looks;
    looks.reserve(functions_.size());
    for (const Function& function : functions_) {
        BlockCounts& look = looks.emplace_back();
        look.counts.reserve(function.counter.size());
        for (const auto& counter : function.counter) {
            if (!counter)
                look.counts.emplace_back();
            else
                look.counts.emplace_back(now[*counter] - (first_.empty() ? 0 : first_[*counter]));
        }
        if (counting_ == BlocksCounted::kOnce) continue;
        function.balance.solve(look.counts);
        look.unbalanced = function.balance.unbalanced(look.counts);
    }
    return looks;
}

}  // namespace djprobe::loader
