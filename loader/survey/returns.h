// SPDX-License-Identifier: GPL-2.0
// Which functions' returns can be probed, and how: arch/x86/analysis/exits.h's rules on a whole
// kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../../arch/x86/analysis/exits.h"
#include "base/output.h"
#include "survey/survey.h"
#include "survey/text_map.h"

namespace djprobe::loader {

/// What the returns of one function allow.
struct ReturnVerdict {
    enum class Mode {
        kExact,    ///< probes at all returns
        kShadow,   ///< tail calls, say: only a replaced return address sees all ways out
        kRefused,  ///< `reason` says why
    };

    Mode mode = Mode::kRefused;
    Reason reason = Reason::NONE;  ///< why not exact; of kRefused why not in shadow mode either
    std::size_t returns = 0;       ///< return instructions of its own
    bool jumps = false;            ///< exact: each of them gets a jump
};

/// Finds the returns of functions in one kernel, whose map and image must outlive it.
class ReturnFinder {
  public:
    ReturnFinder(const KernelImage& image, const TextMap& map);

    [[nodiscard]] const TextMap& map() const noexcept { return map_; }
    /// NAME.cold and the like: their returns are those of another function.
    [[nodiscard]] bool is_part(std::size_t function) const;
    [[nodiscard]] ReturnVerdict judge(std::size_t function) const;

  private:
    struct Walk;
    struct Symbols;
    using SymbolExits = x86::Exits<Symbols>;
    struct Return {
        std::size_t function;
        std::uint64_t address;
    };

    [[nodiscard]] bool is_compiled(std::size_t function) const;
    /// A static call in tail position is a return while it leads nowhere.
    [[nodiscard]] bool is_static_call(const x86::Insn& insn) const;
    void visit(std::size_t function, SymbolExits& exits, Walk& walk) const;
    /// Otherwise `jumps` says whether all returns get one.
    Refusal refuse_exact(const Walk& walk, bool& jumps) const;
    [[nodiscard]] Refusal refuse_shadow(std::size_t function, const Walk& walk) const;

    const TextMap& map_;
    Range return_thunks_{};
};

/// How many functions got which answer.
struct ReturnCounts {
    std::uint64_t functions = 0;  ///< parts are counted with what they are parts of
    std::uint64_t exact = 0;
    std::uint64_t all_jumps = 0;  ///< of `exact`
    std::uint64_t shadow = 0;
    std::uint64_t only_tail_calls = 0;  ///< of `shadow`: no return of their own
    std::uint64_t returns = 0;          ///< probes that exact mode would set
    ReasonTable refused{};
};

/// Judges the functions of the scope, text by text; with `lines` each becomes a line of JSON there.
ReturnCounts survey_returns(const std::vector<ReturnFinder>& texts, const SurveyScope& scope,
                            Output* lines);

/// The summary for people, and the last line of JSON.
std::string return_summary_text(const ReturnCounts& counts, const std::string& kernel);
std::string return_summary_json(const ReturnCounts& counts, const std::string& kernel);

}  // namespace djprobe::loader
