// SPDX-License-Identifier: GPL-2.0
#include "trace/actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "base/plural.h"
#include "count/condition.h"
#include "count/operand.h"
#include "trace/results_text.h"

namespace djprobe::loader {
namespace {

using AggregationKind = Aggregation::Kind;

// Of what the question is as a whole. "" where nothing speaks for a program.
std::string why_not_at_all(const Question& question) {
    if (!question.aggregation) return "each hit sends an event";
    if (question.at_returns) return "at a return a program takes the results";
    if (question.line || !question.sites.empty())
        return "where a variable is at a line debug information says, for a program";
    if (question.filters.any()) return "a filter of tasks or CPUs needs a program";
    if (question.kernel_stack || question.user_stack) return "stacks need a program";
    return "";
}

// A program divides by sign only what has one, and so does C where it compares.
std::string why_not_condition(const Question& question) {
    if (!question.condition || question.condition->find('-') == std::string::npos) return "";
    return fmt::format("--if '{}': a negative number is compared as C does it by a program only",
                       *question.condition);
}

std::string why_not_results(const Aggregation& results) {
    if (results.keys == "func") return "";
    if (!results.keys.empty())
        return fmt::format(
            "results for each `{}` need a program: a detour tells only functions "
            "apart (func)",
            results.keys);
    if (results.linear) return "a detour's histogram is by powers of two";
    if (results.kind == AggregationKind::kLeast || results.kind == AggregationKind::kMost)
        return "a program keeps the least and the largest value";
    return "";
}

std::string why_not_many(const Question& question) {
    if (!question.is_glob() || question.aggregation->kind == AggregationKind::kCount) return "";
    return "of many functions a detour keeps counts only";
}

djprobe_action counting(unsigned int offset) {
    return {DJPROBE_ACTION_COUNT, 0, 0, 0, offset, 0};
}

std::vector<djprobe_action> actions_of(const Question& question, Prototypes& prototypes) {
    const Aggregation& results = *question.aggregation;
    std::vector<djprobe_action> actions;
    if (question.condition)
        actions = parse_conditions(*question.condition, question.site, prototypes);
    const bool is_plain = results.kind == AggregationKind::kCount && actions.empty();
    if (is_plain) return actions;
    if (results.kind == AggregationKind::kHistogram) {
        actions.push_back(
            action_of(DJPROBE_ACTION_LOG2, find_operand(results.value, question.site, prototypes)));
        return actions;
    }
    actions.push_back(counting(0));
    if (results.kind == AggregationKind::kCount) return actions;
    actions.push_back(
        action_of(DJPROBE_ACTION_ADD, find_operand(results.value, question.site, prototypes)));
    actions.back().offset = sizeof(std::uint64_t);
    return actions;
}

// The first line of what does not fit says why.
std::string first_line_of(const Error& error) {
    const std::string_view text = error.what();
    return fmt::format("a detour knows registers and numbers only: {}",
                       text.substr(0, text.find('\n')));
}

}  // namespace

ActionChoice choose_actions(const Question& question, Prototypes& prototypes) {
    if (std::string why = why_not_at_all(question); !why.empty()) return {std::nullopt, why};
    for (const std::string& why : {why_not_condition(question),
                                   why_not_results(*question.aggregation), why_not_many(question)})
        if (!why.empty()) return {std::nullopt, why};
    try {
        auto actions = actions_of(question, prototypes);
        if (actions.size() > DJPROBE_ACTIONS_MAX)
            return {std::nullopt, fmt::format("it would be {} actions, and a detour has up to {}",
                                              actions.size(), DJPROBE_ACTIONS_MAX)};
        return {std::move(actions), ""};
    } catch (const Error& error) {
        return {std::nullopt, first_line_of(error)};
    }
}

std::string explain_choice(const Question& question, const ActionChoice& choice) {
    const std::string what =
        question.aggregation ? option_text(*question.aggregation).substr(1) : std::string("events");
    if (!choice.actions)
        return fmt::format("{}, {}: by a BPF program: {}\n", question.place(), what,
                           choice.why_not);
    const std::string list = choice.actions->empty() ? std::string("one increment")
                                                     : plural(choice.actions->size(), "action");
    return fmt::format(
        "{}, {}: in the detour itself, by {}: no program runs; what probeload itself calls counts, "
        "too\n",
        question.place(), what, list);
}

}  // namespace djprobe::loader
