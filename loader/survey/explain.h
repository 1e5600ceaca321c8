// SPDX-License-Identifier: GPL-2.0
// One site's decision with everything that led to it, as data; explain_text() and explain_json()
// show it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "djprobe.h"
#include "kernel/symbolizer.h"
#include "survey/mainline.h"
#include "survey/text_map.h"

namespace djprobe::loader {

struct Explanation {
    struct Check {
        const char* name;
        bool passed;
        std::string text;
    };
    struct Line {
        std::uint64_t address;
        std::string bytes;
        std::string text;
        std::string mark;  ///< the part that this instruction plays
    };

    std::string site;    ///< SYM+0xOFF
    std::string source;  ///< what was analysed
    std::uint64_t address;
    Refusal refusal;
    x86::Plan plan;
    std::string reason;  ///< of a refusal or an int3, as a sentence
    std::vector<Check> checks;
    std::vector<Check> tactics;
    std::vector<Line> original;
    std::vector<Line> detour;
    std::optional<MainlineVerdict> mainline;  ///< none of explain_outside()
    std::string mainline_at;  ///< the instruction that mainline's rule is about, or ""
    std::optional<djprobe_explain> module;
    std::string module_reason;
    /// The module's answer, if any, is the local one.
    [[nodiscard]] bool agrees() const;
};

/// Analyse one site of a function.
Explanation explain_site(const TextMap& map, const Mainline& mainline, Symbolizer& symbolizer,
                         std::size_t function, std::uint64_t site);

/// A place outside of all text that the analysis knows: only the reason why it is refused.
Explanation explain_outside(std::uint64_t address, djprobe::Reason why, Symbolizer& symbolizer);

std::string explain_text(const Explanation& explanation);
std::string explain_json(const Explanation& explanation);

}  // namespace djprobe::loader
