// SPDX-License-Identifier: GPL-2.0
#include "survey/explain.h"

#include <fmt/core.h>

#include "../../arch/x86/detour/detour.h"
#include "kernel/reason.h"
#include "survey/disasm.h"
#include "survey/words.h"

namespace djprobe::loader {
namespace {

using Check = Explanation::Check;
using Line = Explanation::Line;

/// Bytes before and behind the site that the listing shows.
constexpr std::uint64_t kShown = 48;

/// Hears decide() and writes down what it hears.
class DecisionLog {
  public:
    DecisionLog(const TextMap& map, Symbolizer& symbolizer, std::size_t function, Explanation& out)
        : map_(map), symbolizer_(symbolizer), function_(map.functions()[function]), out_(out) {}

    void asked(x86::Rule rule, const x86::Plan& plan, const Refusal& answer) {
        if (answer) refused_ = sentence(answer);
        // The other tactics ask the same of other regions: tried() says what came of it.
        if (plan.tactic != x86::Tactic::Window) return;
        if (rule == x86::Rule::Arrival && answer && add_arrivals(plan)) return;
        add(name_of(rule), answer, passed(rule, plan));
    }

    void tried(const x86::Plan& plan, bool fits) {
        const char* const tactic = tactic_name(plan.tactic);
        out_.tactics.push_back({tactic, fits, fits ? fit(plan) : misfit(plan.tactic)});
        refused_.clear();
    }

  private:
    [[nodiscard]] std::string name(std::uint64_t address) const { return map_.describe(address); }
    [[nodiscard]] std::string sentence(const Refusal& refusal) const {
        return describe_reason(reason_of(refusal), symbolizer_);
    }
    void add(const char* what, const Refusal& answer, const std::string& text) {
        out_.checks.push_back({what, !answer, answer ? sentence(answer) : text});
    }

    [[nodiscard]] static const char* name_of(x86::Rule rule) {
        switch (rule) {
            case x86::Rule::Text:
                return "blacklists";
            case x86::Rule::Function:
                return "function";
            case x86::Rule::Decodable:
                return "decodable";
            case x86::Rule::End:
                return "end";
            case x86::Rule::Boundary:
                return "boundary";
            case x86::Rule::Owner:
                return "owner";
            case x86::Rule::Movable:
                return "movable";
            case x86::Rule::Region:
                return "region";
            case x86::Rule::Arrival:
                return "arrivals";
            case x86::Rule::IndirectJump:
                return "indirect jumps";
        }
        return "unknown";
    }

    /// What the answer "nothing stands against it" means.
    [[nodiscard]] std::string passed(x86::Rule rule, const x86::Plan& plan) const {
        switch (rule) {
            case x86::Rule::Text:
                return "neither blacklisted, nor idle code, nor on the int3 path";
            case x86::Rule::Function:
                return fmt::format("{} has {:#x} bytes of code, {:#x} with padding", function_.name,
                                   function_.real_end - function_.code.address,
                                   function_.code.bytes.size());
            case x86::Rule::Decodable:
                return "as far as the site";
            case x86::Rule::End:
                return "before the padding";
            case x86::Rule::Boundary:
                return "an instruction begins here";
            case x86::Rule::Owner:
                return "the kernel does not rewrite it";
            case x86::Rule::Movable:
                return "it can run elsewhere";
            case x86::Rule::Region:
                return fmt::format("{} instructions, {} bytes", plan.region.count,
                                   plan.region.length);
            case x86::Rule::Arrival:
                return "nothing lands inside";
            case x86::Rule::IndirectJump:
                return "none that could lead into the function";
        }
        return "";
    }

    /// Every arrival in the region, of which the rule names one. False: none is known, only that
    /// there may be one.
    bool add_arrivals(const x86::Plan& plan) {
        const auto all = map_.arrivals({plan.anchor + 1, plan.anchor + plan.region.length});
        for (const x86::Landing& landing : all)
            out_.checks.push_back({"arrival", false, arrival(landing)});
        return !all.empty();
    }

    [[nodiscard]] std::string arrival(const x86::Landing& landing) const {
        const char* const what = landing.reason == djprobe::Reason::BRANCH_INTO_REGION ? "a jump at"
                                 : landing.reason == djprobe::Reason::POINTER_INTO_REGION
                                     ? "an address taken or stored at"
                                 : landing.reason == djprobe::Reason::LABEL_INTO_REGION
                                     ? "a jump label at"
                                     : "an exception fixup";
        const std::string target =
            fmt::format("lands at +{:#x}", landing.target - function_.code.address);
        return landing.source ? fmt::format("{} {} {}", what, name(landing.source), target)
                              : fmt::format("{} {}", what, target);
    }

    [[nodiscard]] std::string fit(const x86::Plan& plan) const {
        const std::string where = plan.tactic == x86::Tactic::Window ? "at the instruction itself"
                                  : plan.tactic == x86::Tactic::Slide
                                      ? fmt::format("from {} on", name(plan.anchor))
                                      : fmt::format("by way of {}", name(plan.board));
        return fmt::format("{} instructions, {} bytes, {}", plan.region.count, plan.region.length,
                           where);
    }

    /// Why the tactic gives no jump: the rule that refused last, else what the tactic looked for.
    [[nodiscard]] std::string misfit(x86::Tactic tactic) const {
        if (tactic == x86::Tactic::Slide) {
            const std::string none = "no earlier instruction of the same basic block is free";
            return refused_.empty() ? none : none + ": " + refused_;
        }
        if (!refused_.empty()) return refused_;
        return "no five dead bytes within reach of a short jump";
    }

    const TextMap& map_;
    Symbolizer& symbolizer_;
    const TextMap::Function& function_;
    Explanation& out_;
    std::string refused_;  ///< the last refusal since the last tactic
};

const char* part_name(x86::DetourPart part) {
    switch (part) {
        case x86::DetourPart::Before:
        case x86::DetourPart::Displaced:
            return "displaced";
        case x86::DetourPart::Save:
            return "save";
        case x86::DetourPart::Call:
            return "call";
        case x86::DetourPart::Restore:
            return "restore";
        case x86::DetourPart::OutOfLine:
            return "out of line (int3)";
        case x86::DetourPart::Cold:
            return "rarely";
    }
    return "none";
}

/// Shows the site's code and what a detour of it looks like.
class CodeListing {
  public:
    CodeListing(const TextMap& map, Symbolizer& symbolizer, std::size_t function, Explanation& out)
        : map_(map),
          symbolizer_(symbolizer),
          function_(map.functions()[function]),
          out_(out),
          site_(out.address) {}

    void show_original() {
        const bool jump = !out_.refusal && out_.plan.may_jump();
        const std::uint64_t anchor = jump ? out_.plan.anchor : site_;
        const Range dcr = {anchor, anchor + (jump ? out_.plan.region.length : x86::kJumpLength)};
        const Range all = function_.code.range();
        for (std::uint64_t at = all.begin; at < all.end;) {
            if (at >= dcr.end + kShown) break;
            std::size_t length;
            const std::string text = disassemble(function_.code.from(at), at, describe(), length);
            if (at + kShown >= dcr.begin && (at < function_.real_end || at < dcr.end))
                out_.original.push_back({at, hex_bytes(function_.code.from(at).first(length)), text,
                                         mark(at, length, dcr, jump)});
            at += length;
        }
    }

    void show_detour() {
        if (out_.refusal || !out_.plan.may_jump()) return;
        // Where a slot might be: near enough, and nowhere in the text.
        const std::uint64_t slot = (map_.facts().text.end | 0xfffff) + 1;
        const x86::DetourConfig config{
            .handler = slot + 0x1000, .cs = 0x10, .ss = 0x18, .smap = true};
        x86::DetourLayout layout;
        u8 bytes[x86::kMaxDetour];
        if (const Refusal refusal = x86::emit_detour(out_.plan, config, slot, bytes, layout)) {
            out_.detour.push_back(
                {slot, "", describe_reason(reason_of(refusal), symbolizer_), "none"});
            return;
        }
        const Code code{slot, {bytes, layout.size}};
        for (std::uint64_t at = slot; at < slot + layout.size;) {
            std::size_t length;
            const std::string text = disassemble(
                code.from(at), at,
                [&](u64 a) {
                    return a == config.handler ? "the handler" : symbolizer_.describe(a);
                },
                length);
            const auto offset = static_cast<u16>(at - slot);
            out_.detour.push_back({at, hex_bytes(code.from(at).first(length)), text,
                                   part_name(layout.part_at(offset))});
            at += length;
        }
    }

  private:
    [[nodiscard]] Describe describe() const {
        return [this](std::uint64_t address) { return symbolizer_.describe(address); };
    }

    [[nodiscard]] std::string mark(u64 at, std::size_t length, Range dcr, bool jump) const {
        std::string mark;
        const auto add = [&](const std::string& word) { mark += (mark.empty() ? "" : " ") + word; };
        if (at == site_) add("IA");
        if (jump && at < dcr.end && at >= dcr.begin) add("DCR");
        if (at < dcr.begin + x86::kJumpLength && at + length > dcr.begin + 1) add("JTPR");
        return mark;
    }

    const TextMap& map_;
    Symbolizer& symbolizer_;
    const TextMap::Function& function_;
    Explanation& out_;
    std::uint64_t site_;
};

}  // namespace

bool Explanation::agrees() const {
    if (!module) return true;
    const std::uint32_t verdict = verdict_of(refusal, plan);
    if (module->verdict != verdict) return false;
    return verdict != DJPROBE_VERDICT_JUMP ||
           (module->tactic == static_cast<std::uint32_t>(plan.tactic) &&
            module->anchor == plan.anchor && module->region_len == plan.region.length);
}

Explanation explain_site(const TextMap& map, const Mainline& mainline, Symbolizer& symbolizer,
                         std::size_t function, std::uint64_t site) {
    Explanation out{};
    out.site = map.describe(site);
    out.address = site;
    out.refusal = map.plan(function, site, out.plan, DecisionLog(map, symbolizer, function, out));
    out.mainline = mainline.judge(function, site);
    if (out.mainline->at) out.mainline_at = map.describe(out.mainline->at);
    if (out.refusal || !out.plan.may_jump())
        out.reason =
            describe_reason(reason_of(out.refusal ? out.refusal : out.plan.jump), symbolizer);
    CodeListing listing(map, symbolizer, function, out);
    listing.show_original();
    listing.show_detour();
    return out;
}

Explanation explain_outside(std::uint64_t address, djprobe::Reason why, Symbolizer& symbolizer) {
    Explanation out{};
    out.site = symbolizer.describe(address);
    out.address = address;
    out.refusal = Refusal{why};
    out.reason = describe_reason({static_cast<std::uint32_t>(why)}, symbolizer);
    return out;
}

}  // namespace djprobe::loader
