// SPDX-License-Identifier: GPL-2.0
// What a question means for its function: the values, where they come from, what is sent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/field.h"
#include "trace/question.h"
#include "trace/translate.h"
#include "trace/types.h"

namespace djprobe::loader {

/// A site with the values of the variables there.
struct PlannedSite {
    SiteSpec site;
    std::string about;
    std::vector<std::string> values;  ///< in the order of the plan's `variables`
    std::vector<Local> words{};       ///< what is put together before: "unsigned long x_words[2]"
    std::string frame{};              ///< by which what was given is found; "": nothing of it
};

struct TracePlan {
    std::vector<Field> fields;   ///< of the event, or of the key of results
    std::optional<Value> value;  ///< what results are of
    bool value_is_signed = false;
    bool value_is_wide = true;      ///< more than 32 bits
    std::vector<Local> read_first;  ///< for the condition
    std::string condition;          ///< C; "" for none
    std::vector<Local> read;        ///< for the fields
    std::vector<Local> arguments;   ///< those that are named
    std::optional<Local> result;    ///< at returns, where it is named
    bool needs_time = false;        ///< of the entry, at returns
    Needs needs;
    std::vector<Local> variables;  ///< those of `sites` that are named; each has values of its own
    std::vector<PlannedSite> sites;     ///< by debug information; none: the question's own place
    std::vector<std::string> given{};   ///< registers that are kept when the function begins
    std::vector<SiteSpec> entries{};    ///< where they are
    bool has_text_symbol = false;       ///< the kernel's first byte is named
    std::vector<std::string> left_out;  ///< sites where a variable has no value, and why
    std::string unknown;                ///< why the function has no types; "" where it has
};

/// Throws Error: kUsage with a caret, kNoSuchSite.
TracePlan make_plan(const Question& question, Types& types);

}  // namespace djprobe::loader
