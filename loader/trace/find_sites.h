// SPDX-License-Identifier: GPL-2.0
// From a line of the source, or an instruction, to the sites of a trace.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"
#include "trace/question.h"

namespace djprobe::loader {

/// What a site may become.
struct Judged {
    std::optional<std::string> refused{};  ///< why it cannot be probed
    std::optional<std::string> int3{};     ///< why it gets no jump
};
using Judge = std::function<Judged(const SiteSpec&)>;

/// Another place that is probed for one that takes no probe, or no jump, and what is changed
/// between the two, whichever comes first.
struct Beside {
    SiteSpec site;
    std::set<std::string> changed{};  ///< registers, as struct pt_regs names them
    bool changes_memory = false;
    bool by_jump = false;
};
/// Each time that control comes to the site it comes to exactly one of these, those by a jump if
/// there are such. Empty: none are known.
using FindBeside = std::function<std::vector<Beside>(const SiteSpec&)>;

/// How control goes between sites of one function. False: it is not known.
struct SiteFlow {
    /// Does it come to `site` exactly as often as to all these together?
    std::function<bool(const SiteSpec& site, const std::vector<SiteSpec>& together)> runs_as_often =
        [](const auto&, const auto&) { return false; };
    /// Does control that comes to where the two part come to one of them at most?
    std::function<bool(const SiteSpec& site, const SiteSpec& other)> runs_instead_of =
        [](const auto&, const auto&) { return false; };
    /// Does it come to `site` only by way of the other, once for each? The other may run more
    /// often.
    std::function<bool(const SiteSpec& site, const SiteSpec& other)> comes_by =
        [](const auto&, const auto&) { return false; };
    /// Does it go from `site` to the other in any case, once for each? Likewise.
    std::function<bool(const SiteSpec& site, const SiteSpec& other)> leads_to =
        [](const auto&, const auto&) { return false; };

    [[nodiscard]] bool never_runs_without(const SiteSpec& site, const SiteSpec& other) const {
        return comes_by(site, other) || leads_to(site, other);
    }
};

/// What is known of the kernel that is traced.
struct Judgement {
    Judge judge;
    FindBeside beside = [](const SiteSpec&) { return std::vector<Beside>(); };
    SiteFlow flow{};
    /// The places that may be asked about next: what that takes is then done once for all.
    std::function<void(const std::vector<SiteSpec>&)> expect = [](const auto&) {};
};

/// What the user should know of the sites: a line each.
struct SiteNotes {
    std::vector<std::string> left_out{};  ///< and why
    std::vector<std::string> beside{};    ///< where the probe is, and why
};

/// Fills the question's sites: of its line, each copy of the first statement that begins there in
/// each inlined instance and is accepted; or where each inlined instance of a function begins; or
/// the instruction itself. What gets no jump is probed beside only where the question's answers are
/// the same there, and no other site is.
/// Throws Error(kNoSuchSite) where none is left.
void find_sites(const DwarfFile& debug, const Judgement& kernel, Question& question,
                SiteNotes& notes);

}  // namespace djprobe::loader
