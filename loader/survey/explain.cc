// SPDX-License-Identifier: GPL-2.0
#include "survey/explain.h"

#include <fmt/core.h>

#include "../../arch/x86/detour.h"
#include "kernel/reason.h"
#include "survey/disasm.h"
#include "survey/words.h"

namespace djprobe::loader {
namespace {

using x86::Insn;
using Check = Explanation::Check;
using Line = Explanation::Line;

/// So far around the site is shown.
constexpr std::uint64_t kShown = 48;

class Explainer {
  public:
    Explainer(const TextMap& map, Symbolizer& symbolizer, std::size_t function, Explanation& out)
        : map_(map),
          symbolizer_(symbolizer),
          function_(map.functions()[function]),
          around_(map, function),
          out_(out),
          site_(out.address) {}

    /// Why not, in words.
    [[nodiscard]] std::string sentence(const Refusal& refusal) const {
        return describe_reason(reason_of(refusal), symbolizer_);
    }

    void check_site() {
        const TextMap::Function& f = function_;
        add("function", site_ < f.real_end,
            fmt::format("{} has {:#x} bytes of code, {:#x} with padding", f.name,
                        f.real_end - f.code.address, f.code.bytes.size()));
        add("decodable", !f.undecodable, f.undecodable ? sentence(f.undecodable) : "to its end");
        x86::Boundary boundary;
        const bool known = !around_.boundary(site_, boundary);
        add("boundary", known && boundary.is_start(site_),
            !known ? "not known"
            : boundary.is_start(site_)
                ? "an instruction begins here"
                : fmt::format("inside the instruction at {}; the next is at {}",
                              name(boundary.before), name(boundary.after)));
        add("blacklists", !f.blacklisted && !f.idle && !f.fragile && !f.trap_path,
            f.idle          ? sentence(Refusal{djprobe::Reason::IDLE_TEXT})
            : f.blacklisted ? sentence(Refusal{djprobe::Reason::BLACKLISTED})
            : f.fragile     ? sentence(Refusal{djprobe::Reason::FRAGILE_TEXT})
            : f.trap_path   ? sentence(Refusal{djprobe::Reason::TRAP_PATH})
                            : "neither blacklisted, nor idle code, nor on the int3 path");
        Insn insn;
        if (!x86::decode(f.code.from(site_), site_, insn)) return;
        const x86::Reserved* owner = around_.reserved({site_, insn.end()});
        add("owner", !owner,
            owner ? sentence(Refusal{owner->reason, site_}) : "nobody else rewrites it");
        Refusal fixed = x86::rules::check_movable(insn);
        if (!fixed) fixed = x86::rules::check_last(insn);
        add("movable", !fixed, fixed ? sentence(fixed) : "it can run elsewhere");
    }

    void check_jump() {
        x86::Plan plan = out_.plan;
        const Refusal region = x86::rules::take_region(around_, x86::kJumpLength, plan);
        // take_region() leaves `anchor` to its caller: it is the IA's until a tactic moves it.
        add("region", !region,
            region
                ? sentence(region)
                : fmt::format("{} instructions, {} bytes", plan.region.count, plan.region.length));
        const std::uint64_t end =
            site_ + std::max<std::uint64_t>(x86::kJumpLength, region ? 0 : plan.region.length);
        const auto arrivals = map_.arrivals({site_ + 1, end});
        for (const x86::Landing& landing : arrivals)
            add("arrival", false, arrival(landing));
        if (arrivals.empty()) {
            const Refusal unknown = around_.arrival({site_ + 1, end});
            add("arrivals", !unknown, unknown ? sentence(unknown) : "nothing lands inside");
        }
        const Refusal jump = around_.indirect_jump();
        add("indirect jumps", !jump,
            jump ? sentence(jump) : "none that could lead into the function");
    }

    void try_tactics() {
        x86::Plan plan = out_.plan;
        const Refusal window = x86::rules::try_window(around_, plan);
        add_tactic("window", !window,
                   window ? sentence(window) : fits(plan, "at the instruction itself"));
        if (!window) return;
        if (x86::rules::try_slide(around_, plan)) {
            add_tactic("slide", true, fits(plan, "from " + name(plan.anchor) + " on"));
            return;
        }
        add_tactic("slide", false, "no earlier instruction of the same basic block is free");
        plan.anchor = site_;
        plan.before = 0;
        if (const Refusal two = x86::rules::check_region(around_, x86::kShortJumpLength, plan)) {
            add_tactic("springboard", false, sentence(two));
        } else if (x86::rules::try_springboard(around_, plan)) {
            add_tactic("springboard", true, fits(plan, "by way of " + name(plan.board)));
        } else {
            add_tactic("springboard", false, "no five dead bytes within reach of a short jump");
        }
    }

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
            out_.detour.push_back({slot, "", sentence(refusal), "none"});
            return;
        }
        const Code code{slot, {bytes, layout.size}};
        // The instructions before the handler (slide), then saving, calling, restoring.
        std::uint64_t saving = slot;
        for (u8 i = 0; i < out_.plan.before; ++i)
            saving += relocated_size(out_.plan, i);
        bool called = false;
        for (std::uint64_t at = slot; at < slot + layout.size;) {
            std::size_t length;
            const std::string text = disassemble(
                code.from(at), at,
                [&](u64 a) {
                    return a == config.handler ? "the handler" : symbolizer_.describe(a);
                },
                length);
            const u64 offset = at - slot;
            const bool handler = text.find("the handler") != text.npos;
            const char* const part =
                offset >= layout.out_of_line && layout.out_of_line != layout.displaced
                    ? "out of line (int3)"
                : offset >= layout.displaced ? "displaced"
                : at < saving                ? "displaced"
                : handler                    ? "call"
                : called                     ? "restore"
                                             : "save";
            called |= handler;
            out_.detour.push_back({at, hex_bytes(code.from(at).first(length)), text, part});
            at += length;
        }
    }

  private:
    [[nodiscard]] std::string name(std::uint64_t address) const { return map_.describe(address); }
    [[nodiscard]] Describe describe() const {
        return [this](std::uint64_t address) { return symbolizer_.describe(address); };
    }
    void add(const char* what, bool passed, std::string text) {
        out_.checks.push_back({what, passed, std::move(text)});
    }
    void add_tactic(const char* what, bool passed, std::string text) {
        out_.tactics.push_back({what, passed, std::move(text)});
    }

    [[nodiscard]] static std::string fits(const x86::Plan& plan, const std::string& where) {
        return fmt::format("{} instructions, {} bytes, {}", plan.region.count, plan.region.length,
                           where);
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

    [[nodiscard]] std::string mark(u64 at, std::size_t length, Range dcr, bool jump) const {
        std::string mark;
        const auto add = [&](const std::string& word) { mark += (mark.empty() ? "" : " ") + word; };
        if (at == site_) add("IA");
        if (jump && at < dcr.end && at >= dcr.begin) add("DCR");
        if (at < dcr.begin + x86::kJumpLength && at + length > dcr.begin + 1) add("JTPR");
        return mark;
    }

    [[nodiscard]] static std::size_t relocated_size(const x86::Plan& plan, u8 index) {
        std::size_t offset = 0;
        for (u8 i = 0; i < index; ++i)
            offset += plan.region.insns[i].length;
        u8 bytes[x86::kMaxRelocated];
        x86::Emitter out(bytes, plan.anchor);
        const Span<const u8> from{plan.region.bytes, plan.region.length};
        (void)x86::relocate(plan.region.insns[index], from.from(offset), out);
        return out.size();
    }

    const TextMap& map_;
    Symbolizer& symbolizer_;
    const TextMap::Function& function_;
    TextMap::Surroundings around_;
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
    out.refusal = map.plan(function, site, out.plan);
    out.mainline = mainline.judge(function, site);
    if (out.mainline->at) out.mainline_at = map.describe(out.mainline->at);
    Explainer explainer(map, symbolizer, function, out);
    if (out.refusal || !out.plan.may_jump())
        out.reason = explainer.sentence(out.refusal ? out.refusal : out.plan.jump);
    explainer.check_site();
    if (!out.refusal) {
        const x86::Plan decided = out.plan;
        out.plan.anchor = site;
        out.plan.before = 0;
        explainer.check_jump();
        explainer.try_tactics();
        out.plan = decided;
    }
    explainer.show_original();
    explainer.show_detour();
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
