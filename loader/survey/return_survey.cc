// SPDX-License-Identifier: GPL-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "base/progress.h"
#include "decode/quote.h"
#include "survey/counts.h"
#include "survey/returns.h"

namespace djprobe::loader {
namespace {

using Mode = ReturnVerdict::Mode;

const char* mode_name(Mode mode) {
    switch (mode) {
        case Mode::kExact:
            return "exact";
        case Mode::kShadow:
            return "shadow";
        case Mode::kRefused:
            return "refused";
    }
    return "unknown";
}

void count(const ReturnVerdict& verdict, ReturnCounts& counts) {
    ++counts.functions;
    switch (verdict.mode) {
        case Mode::kExact:
            ++counts.exact;
            counts.all_jumps += verdict.jumps;
            counts.returns += verdict.returns;
            break;
        case Mode::kShadow:
            ++counts.shadow;
            counts.only_tail_calls += verdict.returns == 0;
            break;
        case Mode::kRefused:
            ++counts.refused[reason_slot(verdict.reason)];
            break;
    }
}

}  // namespace

ReturnCounts survey_returns(const std::vector<ReturnFinder>& texts, const SurveyScope& scope,
                            Output* lines) {
    struct Function {
        const ReturnFinder* finder;
        std::size_t index;
    };
    std::vector<Function> functions;
    for (const ReturnFinder& finder : texts)
        for (std::size_t i = 0; i < finder.map().functions().size(); ++i)
            if (in_scope(finder.map(), i, scope) && !finder.is_part(i))
                functions.push_back({&finder, i});
    if (scope.sample) {
        std::vector<Function> chosen;
        std::mt19937_64 random(scope.seed);
        // std::ranges::sample() counts with a sign.
        const auto count = std::min<std::uint64_t>(scope.sample, functions.size());
        std::ranges::sample(functions, std::back_inserter(chosen),
                            static_cast<std::ptrdiff_t>(count), random);
        functions = std::move(chosen);
    }
    ReturnCounts counts;
    Progress progress("surveying functions", functions.size(),
                      lines ? progress_fd(lines->fd()) : STDERR_FILENO);
    for (const auto& [finder, index] : functions) {
        progress.at(counts.functions);
        const ReturnVerdict verdict = finder->judge(index);
        count(verdict, counts);
        if (!lines) continue;
        const TextMap::Function& self = finder->map().functions()[index];
        fmt::format_to(std::back_inserter(lines->buffer()),
                       R"({{"type":"function","function":{},"address":"{:#x}","mode":"{}",)"
                       R"("reason":"{}","returns":{}}})"
                       "\n",
                       quoted(finder->map().name(index), Format::kJson), self.code.address,
                       mode_name(verdict.mode), djprobe::reason_name(verdict.reason),
                       verdict.returns);
        lines->flush_if_full();
        if (lines->closed()) break;
    }
    return counts;
}

std::string return_summary_text(const ReturnCounts& counts, const std::string& kernel) {
    const std::uint64_t all = counts.functions;
    std::string text = fmt::format("{}: the returns of {} functions\n", kernel, all);
    text += summary_line(0, "exact mode", counts.exact, all);
    text += summary_line(2, "by jumps only", counts.all_jumps, all);
    text += summary_line(0, "shadow mode", counts.shadow, all);
    text += summary_line(2, "only tail calls", counts.only_tail_calls, all);
    text += summary_line(0, "refused", sum(counts.refused), all);
    for (const std::size_t reason : by_frequency(counts.refused))
        text += summary_line(4, reason_name_of(reason), counts.refused[reason], all);
    return text + fmt::format("exact mode has {} returns\n", counts.returns);
}

std::string return_summary_json(const ReturnCounts& counts, const std::string& kernel) {
    nlohmann::ordered_json json;
    json["type"] = "summary";
    json["kernel"] = kernel;
    json["functions"] = counts.functions;
    json["exact"] = counts.exact;
    json["exact_jumps_only"] = counts.all_jumps;
    json["exact_returns"] = counts.returns;
    json["shadow"] = counts.shadow;
    json["only_tail_calls"] = counts.only_tail_calls;
    json["refused"] = sum(counts.refused);
    json["refused_reasons"] = reasons_json(counts.refused);
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace djprobe::loader
