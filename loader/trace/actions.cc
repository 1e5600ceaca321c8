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
#include "kernel/pt_regs.h"
#include "kernel/task_filter.h"
#include "trace/lexer.h"
#include "trace/results_text.h"

namespace djprobe::loader {
namespace {

using AggregationKind = Aggregation::Kind;

// Of what the question is as a whole. "" where nothing speaks for a program.
std::string why_not_at_all(const Question& question) {
    if (!question.aggregation) return "each hit sends an event";
    if (question.at_returns) return "at a return a program takes the results";
    if (question.line || question.inlined || !question.sites.empty())
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

void refuse_octal(std::string_view text) {
    for (std::size_t at = 0;;) {
        const Token token = next_token(text, at);
        if (token.kind == TokenKind::kEnd) return;
        at = token.span.end();
        const bool is_octal = token.text.size() > 1 && token.text.starts_with('0') &&
                              token.text.find_first_not_of("01234567") == token.text.npos;
        if (is_octal) fail(ExitCode::kUsage, "`{}` is octal in C", token.text);
    }
}

// Throws Error for what they cannot say.
std::vector<djprobe_action> c_conditions(const Question& question, Prototypes& prototypes) {
    refuse_octal(*question.condition);
    return parse_conditions(*question.condition, question.site, prototypes);
}

bool is_name_of_register(std::string_view name) {
    if (name.size() == 4 && name.starts_with("arg")) return true;
    return names_pt_reg(name);
}

// In C an argument hides the register that is called so.
std::string why_not_names(const Question& question, Prototypes& prototypes) {
    if (question.is_glob() || question.is_within()) return "";
    const auto arguments = prototypes.parameters(question.module(), question.bare_function());
    if (!arguments) return "";
    const auto found = std::ranges::find_if(*arguments, is_name_of_register, &Parameter::name);
    if (found == arguments->end()) return "";
    return fmt::format("`{}` is an argument and a register: a program tells them apart",
                       found->name);
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
    if (question.condition) actions = c_conditions(question, prototypes);
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

// As C compares them, where it is plain that conditions do so, too.
std::vector<djprobe_action> plain_conditions(const Question& question, Prototypes& prototypes) {
    const bool has_variables = question.line || question.inlined || !question.sites.empty();
    if (!question.condition || has_variables) return {};
    for (const std::string& why :
         {why_not_condition(question), why_not_names(question, prototypes)})
        if (!why.empty()) return {};
    try {
        return c_conditions(question, prototypes);
    } catch (const Error&) {
        return {};
    }
}

void add_words(std::string& words, const std::string& more) {
    words += (words.empty() ? "" : ", ") + more;
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
    for (const std::string& why : {why_not_condition(question), why_not_names(question, prototypes),
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

Front choose_front(const Question& question, Prototypes& prototypes) {
    Front front;
    const bool is_of_calls = question.aggregation && question.aggregation->value == "latency";
    if (question.at_returns || is_of_calls) return front;
    const TaskFilters& filters = question.filters;
    front.conditions = conditions_of({filters.pid, filters.tid, filters.comm});
    if (filters.pid) add_words(front.words, "--pid");
    if (filters.tid) add_words(front.words, "--tid");
    if (filters.comm) add_words(front.words, "--comm");
    const auto plain = plain_conditions(question, prototypes);
    if (plain.empty()) return front;
    front.conditions.insert(front.conditions.end(), plain.begin(), plain.end());
    add_words(front.words, fmt::format("--if '{}'", *question.condition));
    return front;
}

std::string explain_choice(const Question& question, const ActionChoice& choice,
                           const Front& front) {
    const std::string what =
        question.aggregation ? option_text(*question.aggregation).substr(1) : std::string("events");
    if (!choice.actions)
        return fmt::format(
            "{}, {}: by a BPF program: {}\n{}", question.place(), what, choice.why_not,
            front.words.empty()
                ? ""
                : fmt::format("in front of it, in the detour itself: {}: of other hits the "
                              "program does not run\n",
                              front.words));
    const std::string list = choice.actions->empty() ? std::string("one increment")
                                                     : plural(choice.actions->size(), "action");
    return fmt::format(
        "{}, {}: in the detour itself, by {}: no program runs; what probeload itself calls counts, "
        "too\n",
        question.place(), what, list);
}

}  // namespace djprobe::loader
