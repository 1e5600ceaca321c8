// SPDX-License-Identifier: GPL-2.0
#include "survey/survey.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "base/progress.h"
#include "decode/quote.h"
#include "kernel/glob.h"
#include "survey/words.h"

namespace djprobe::loader {
namespace {

// Functions that a thread takes at a time: some ten thousand sites.
constexpr std::size_t kChunk = 256;

struct FunctionOf {
    const SurveyedText* text;
    std::size_t index;
};

struct Site {
    FunctionOf function;
    std::uint64_t address;
};

/// One thread's share.
class Worker {
  public:
    explicit Worker(bool lines) : lines_(lines) {}

    void judge(const Site& site) {
        x86::Plan plan;
        const FunctionOf& function = site.function;
        const Refusal refusal = function.text->map.plan(function.index, site.address, plan);
        count(site, refusal, plan);
        if (lines_) write(site, refusal, plan);
    }

    fmt::memory_buffer& text() { return text_; }
    [[nodiscard]] const SurveyCounts& counts() const { return counts_; }

  private:
    void count(const Site& site, const Refusal& refusal, const x86::Plan& plan) {
        const Mainline& mainline = site.function.text->mainline;
        const auto kernels = mainline.judge(site.function.index, site.address).kind;
        const bool accepted =
            kernels == MainlineVerdict::Kind::Jump || kernels == MainlineVerdict::Kind::Int3;
        counts_.accepted += accepted;
        counts_.accepted_jumps += accepted && !refusal && plan.may_jump();
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
        ++counts_.mainline[static_cast<std::size_t>(kernels)];
    }

    void write(const Site& site, const Refusal& refusal, const x86::Plan& plan) {
        const TextMap& map = site.function.text->map;
        const TextMap::Function& function = map.functions()[site.function.index];
        const bool jump = !refusal && plan.may_jump();
        const Reason reason = refusal ? refusal.reason : plan.jump.reason;
        fmt::format_to(std::back_inserter(text_),
                       FMT_COMPILE(R"({{"type":"site","site":{},"address":"{:#x}","verdict":"{}",)"
                                   R"("tactic":"{}","reason":"{}","dcr":{}}})"
                                   "\n"),
                       quoted(fmt::format("{}+{:#x}", map.name(site.function.index),
                                          site.address - function.code.address),
                              Format::kJson),
                       site.address, verdict_name(verdict_of(refusal, plan)),
                       jump ? tactic_name(plan.tactic) : "none", djprobe::reason_name(reason),
                       jump ? plan.region.length : 0);
    }

    bool lines_;
    SurveyCounts counts_;
    fmt::memory_buffer text_;
};

template <class Use>
void for_each_site(const FunctionOf& of, const SurveyScope& scope, Use&& use) {
    const TextMap& map = of.text->map;
    const TextMap::Function& function = map.functions()[of.index];
    if (scope.entries_only) {
        const std::uint64_t entry = map.entry(of.index);
        if (entry < function.real_end) use(Site{of, entry});
        return;
    }
    for (std::uint64_t at = function.code.address; at < function.real_end; ++at)
        if (map.is_insn_start(at)) use(Site{of, at});
}

/// Sites of the scope, chosen at random, in their order.
std::vector<Site> choose(const std::vector<FunctionOf>& functions, const SurveyScope& scope) {
    std::vector<Site> all, chosen;
    for (const FunctionOf& function : functions)
        for_each_site(function, scope, [&](const Site& site) { all.push_back(site); });
    std::mt19937_64 random(scope.seed);
    // std::sample() counts with a sign.
    const auto count = std::min<std::uint64_t>(scope.sample, all.size());
    std::sample(all.begin(), all.end(), std::back_inserter(chosen), count, random);
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
    if (self.nameless) return false;
    return !scope.glob || is_like(*scope.glob, map.facts().module, self.name);
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
    accepted += other.accepted;
    accepted_jumps += other.accepted_jumps;
}

SurveyCounts run_survey(const std::vector<SurveyedText>& texts, const SurveyScope& scope,
                        unsigned threads, Output* lines) {
    std::vector<FunctionOf> functions;
    for (const SurveyedText& text : texts)
        for (std::size_t i = 0; i < text.map.functions().size(); ++i)
            if (in_scope(text.map, i, scope)) functions.push_back({&text, i});
    const std::vector<Site> chosen = scope.sample ? choose(functions, scope) : std::vector<Site>{};
    const std::size_t items = scope.sample ? chosen.size() : functions.size();

    std::vector<Worker> workers;
    for (unsigned i = 0; i < threads; ++i)
        workers.emplace_back(lines != nullptr);
    const auto judge_chunk = [&](Worker& worker, std::size_t begin) {
        for (std::size_t i = begin; i < std::min(begin + kChunk, items); ++i)
            if (scope.sample)
                worker.judge(chosen[i]);
            else
                for_each_site(functions[i], scope, [&](const Site& site) { worker.judge(site); });
    };
    // An exception must not leave its thread: it goes on where all have ended.
    std::vector<std::exception_ptr> failures(threads);
    const auto work = [&](unsigned thread, std::size_t begin) {
        try {
            judge_chunk(workers[thread], begin);
        } catch (...) {
            failures[thread] = std::current_exception();
        }
    };
    // In rounds of one chunk for each thread: the lines keep their order and little is buffered.
    Progress progress(scope.sample ? "surveying sites" : "surveying functions", items,
                      lines ? progress_fd(lines->fd()) : STDERR_FILENO);
    for (std::size_t begin = 0; begin < items; begin += kChunk * threads) {
        progress.at(begin);
        {
            std::vector<std::jthread> running;
            for (unsigned i = 0; i < threads; ++i)
                running.emplace_back(work, i, begin + i * kChunk);
        }
        for (const std::exception_ptr& failure : failures)
            if (failure) std::rethrow_exception(failure);
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
