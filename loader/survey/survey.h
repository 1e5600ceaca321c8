// SPDX-License-Identifier: GPL-2.0
// Classifies many sites of a kernel: counts, and a line of JSON for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/output.h"
#include "survey/counts.h"
#include "survey/mainline.h"
#include "survey/text_map.h"

namespace djprobe::loader {

/// A kernel's text, or a module's; both must outlive it.
struct SurveyedText {
    const TextMap& map;
    const Mainline& mainline;
};

/// Which sites.
struct SurveyScope {
    std::optional<std::string> glob;  ///< only functions of such a name
    bool entries_only = false;
    std::uint64_t sample = 0;  ///< so many sites chosen at random; 0: all
    std::uint64_t seed = 1;
};

/// Whether a function belongs to it. Padding (__pfx_NAME) is no function, nor is one
/// that has no symbol.
bool in_scope(const TextMap& map, std::size_t function, const SurveyScope& scope);

/// How many sites got which answer. Indices are numbers of reasons, tactics and mainline verdicts.
struct SurveyCounts {
    std::uint64_t functions = 0;
    std::array<std::uint64_t, 3> tactics{};  ///< jumps by tactic
    ReasonTable int3{};
    ReasonTable int3_inner{};  ///< of REGION_RESERVED: the owner's reason
    ReasonTable refused{};
    std::array<std::uint64_t, 4> mainline{};  ///< among the probeable ones
    /// Among all sites those that the kernel's kprobes accept, and how many of these get a jump.
    /// Ftrace's calls aside, which others than kprobes serve: the place right behind is as good.
    std::uint64_t accepted = 0, accepted_jumps = 0;

    [[nodiscard]] std::uint64_t jumps() const;
    [[nodiscard]] std::uint64_t int3s() const;
    [[nodiscard]] std::uint64_t refusals() const;
    [[nodiscard]] std::uint64_t probeable() const { return jumps() + int3s(); }
    void add(const SurveyCounts& other);
};

/// Surveys by `threads` threads. With `lines` each site becomes a line of JSON there, text by text
/// in the order of addresses whatever the number of threads.
SurveyCounts run_survey(const std::vector<SurveyedText>& texts, const SurveyScope& scope,
                        unsigned threads, Output* lines);

/// The summary for people, and the last line of JSON.
std::string summary_text(const SurveyCounts& counts, const std::string& kernel);
std::string summary_json(const SurveyCounts& counts, const std::string& kernel);

}  // namespace djprobe::loader
