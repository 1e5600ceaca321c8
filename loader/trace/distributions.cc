// SPDX-License-Identifier: GPL-2.0
#include "trace/distributions.h"

#include <fmt/format.h>

#include <optional>

namespace djprobe::loader {
namespace {

// Those below the first slot have a bucket of their own, those above the last one have none.
Distribution by_equal_steps(const Result& result, const Linear& linear) {
    Distribution distribution;
    distribution.count = result.negative;
    distribution.buckets.push_back({static_cast<double>(linear.from - 1), distribution.count});
    for (std::size_t i = 0; i < result.slots.size(); ++i) {
        distribution.count += result.slots[i];
        // A last step may begin behind the end, and is empty.
        if (linear.least(i) < linear.to)
            distribution.buckets.push_back(
                {static_cast<double>(linear.most(i)), distribution.count});
    }
    distribution.count += result.above;
    return distribution;
}

Distribution distribution_of(const Result& result, bool times, const TableStyle& style) {
    if (style.linear) return by_equal_steps(result, *style.linear);
    const auto negative = style.is_signed ? std::optional(result.negative) : std::nullopt;
    return by_powers_of_two(result.slots, 1, times ? kMostTimeBits : kMostValueBits, negative);
}

}  // namespace

std::vector<Distribution> distributions_of(const std::vector<Result>& results,
                                           const Question& question, const TableStyle& style) {
    const std::string place = question.place(), &value = question.aggregation->value;
    const bool times = value == "latency";
    std::vector<Distribution> distributions;
    for (const Result& result : results) {
        Distribution distribution = distribution_of(result, times, style);
        if (times) {
            distribution.unit = Distribution::Unit::kNanoseconds;
            distribution.labels = {{"from", question.function()},
                                   {"to", question.function() + ":return"}};
        } else {
            distribution.labels = {{"site", place}, {"of", value}};
        }
        for (const KeyPart& part : result.key)
            distribution.labels.emplace_back(
                "key_" + part.name,
                part.frames.empty() ? part.text : fmt::format("{}", fmt::join(part.frames, ";")));
        distributions.push_back(std::move(distribution));
    }
    return distributions;
}

}  // namespace djprobe::loader
