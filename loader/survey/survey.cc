// SPDX-License-Identifier: GPL-2.0
#include "survey/survey.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "survey/words.h"

namespace djprobe::loader {
namespace {

// Functions that a thread takes at a time: some ten thousand sites.
constexpr std::size_t kChunk = 256;

struct Site {
    std::size_t function;
    std::uint64_t address;
};

/// One thread's share.
class Worker {
  public:
    Worker(const TextMap& map, const Mainline& mainline, bool lines)
        : map_(map), mainline_(mainline), lines_(lines) {}

    void judge(const Site& site) {
        x86::Plan plan;
        const Refusal refusal = map_.plan(site.function, site.address, plan);
        count(site, refusal, plan);
        if (lines_) write(site, refusal, plan);
    }

    fmt::memory_buffer& text() { return text_; }
    [[nodiscard]] const SurveyCounts& counts() const { return counts_; }

  private:
    void count(const Site& site, const Refusal& refusal, const x86::Plan& plan) {
        if (refusal) {
            ++counts_.refused[reason_slot(refusal.reason)];
            return;
        }
        if (plan.may_jump()) {
            ++counts_.tactics[static_cast<std::size_t>(plan.tactic)];
        } else {
            ++counts_.int3[reason_slot(plan.jump.reason)];
            if (plan.jump.reason == Reason::REGION_RESERVED)
                ++counts_.int3_inner[reason_slot(plan.jump.detail[1])];
        }
        const MainlineVerdict verdict = mainline_.judge(site.function, site.address);
        ++counts_.mainline[static_cast<std::size_t>(verdict.kind)];
    }

    void write(const Site& site, const Refusal& refusal, const x86::Plan& plan) {
        const TextMap::Function& function = map_.functions()[site.function];
        const bool jump = !refusal && plan.may_jump();
        const Reason reason = refusal ? refusal.reason : plan.jump.reason;
        fmt::format_to(
            std::back_inserter(text_),
            FMT_COMPILE(R"({{"site":"{}+{:#x}","address":"{:#x}","verdict":"{}","tactic":"{}",)"
                        R"("reason":"{}","dcr":{}}})"
                        "\n"),
            function.name, site.address - function.code.address, site.address,
            verdict_name(refusal, plan), jump ? tactic_name(plan.tactic) : "none",
            djprobe::reason_name(reason), jump ? plan.region.length : 0);
    }

    const TextMap& map_;
    const Mainline& mainline_;
    bool lines_;
    SurveyCounts counts_;
    fmt::memory_buffer text_;
};

template <class Use>
void for_each_site(const TextMap& map, std::size_t index, const SurveyScope& scope, Use&& use) {
    const TextMap::Function& function = map.functions()[index];
    if (scope.entries_only) {
        const std::uint64_t entry = map.entry(index);
        if (entry < function.real_end) use(Site{index, entry});
        return;
    }
    for (std::uint64_t at = function.code.address; at < function.real_end; ++at)
        if (map.is_insn_start(at)) use(Site{index, at});
}

/// Sites of the scope, chosen at random, in the order of addresses.
std::vector<Site> choose(const TextMap& map, const std::vector<std::size_t>& functions,
                         const SurveyScope& scope) {
    std::vector<Site> all, chosen;
    for (const std::size_t index : functions)
        for_each_site(map, index, scope, [&](const Site& site) { all.push_back(site); });
    std::mt19937_64 random(scope.seed);
    std::sample(all.begin(), all.end(), std::back_inserter(chosen), scope.sample, random);
    return chosen;
}

template <class Array>
void add_each(Array& to, const Array& from) {
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>());
}

}  // namespace

bool in_scope(const TextMap& map, std::size_t function, const SurveyScope& scope) {
    const TextMap::Function& self = map.functions()[function];
    if (self.real_end == self.code.address) return false;  // padding only
    if (!scope.glob) return true;
    // A name is no C string: it views into the symbol table's text.
    return fnmatch(scope.glob->c_str(), std::string(self.name).c_str(), 0) == 0;
}

std::uint64_t SurveyCounts::jumps() const {
    return sum(tactics);
}
std::uint64_t SurveyCounts::int3s() const {
    return sum(int3);
}
std::uint64_t SurveyCounts::refusals() const {
    return sum(refused);
}

void SurveyCounts::add(const SurveyCounts& other) {
    functions += other.functions;
    add_each(tactics, other.tactics);
    add_each(int3, other.int3);
    add_each(int3_inner, other.int3_inner);
    add_each(refused, other.refused);
    add_each(mainline, other.mainline);
}

SurveyCounts run_survey(const TextMap& map, const Mainline& mainline, const SurveyScope& scope,
                        unsigned threads, Output* lines) {
    std::vector<std::size_t> functions;
    for (std::size_t i = 0; i < map.functions().size(); ++i)
        if (in_scope(map, i, scope)) functions.push_back(i);
    const std::vector<Site> chosen =
        scope.sample ? choose(map, functions, scope) : std::vector<Site>{};
    const std::size_t items = scope.sample ? chosen.size() : functions.size();

    std::vector<Worker> workers;
    for (unsigned i = 0; i < threads; ++i)
        workers.emplace_back(map, mainline, lines != nullptr);
    const auto work = [&](Worker& worker, std::size_t begin) {
        for (std::size_t i = begin; i < std::min(begin + kChunk, items); ++i)
            if (scope.sample)
                worker.judge(chosen[i]);
            else
                for_each_site(map, functions[i], scope,
                              [&](const Site& site) { worker.judge(site); });
    };
    // In rounds of one chunk for each thread: the lines keep their order and little is buffered.
    for (std::size_t begin = 0; begin < items; begin += kChunk * threads) {
        {
            std::vector<std::jthread> running;
            for (unsigned i = 0; i < threads; ++i)
                running.emplace_back(work, std::ref(workers[i]), begin + i * kChunk);
        }
        for (Worker& worker : workers) {
            if (!lines) break;
            lines->buffer().append(worker.text());
            worker.text().clear();
            lines->flush_if_full();
        }
        if (lines && lines->closed()) break;
    }
    SurveyCounts counts;
    counts.functions = functions.size();
    for (const Worker& worker : workers)
        counts.add(worker.counts());
    return counts;
}

}  // namespace djprobe::loader
