// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include "survey/explain.h"
#include "survey/words.h"

namespace djprobe::loader {
namespace {

std::string check_lines(const std::vector<Explanation::Check>& checks) {
    std::string text;
    for (const auto& check : checks)
        text += fmt::format("  {} {:<15} {}\n", check.passed ? "ok" : "NO", check.name, check.text);
    return text;
}

std::string verdict_line(const Explanation& e) {
    if (e.refusal) return fmt::format("refused: {}\n", e.reason);
    if (!e.plan.may_jump()) return fmt::format("int3 only: {}\n", e.reason);
    return fmt::format("jump, by {}\n", tactic_name(e.plan.tactic));
}

/// Who else is in the text, which the local analysis does not see.
bool is_of_the_moment(const djprobe_explain& answer) {
    switch (answer.reason) {
        case DJPROBE_REASON_SHARED_KPROBE:
        case DJPROBE_REASON_FOREIGN_PATCH:
        case DJPROBE_REASON_OVERLAP:
            return true;
        case DJPROBE_REASON_REGION_RESERVED:
            return answer.detail[1] == DJPROBE_REASON_FOREIGN_PATCH;
        default:
            return false;
    }
}

std::string module_lines(const Explanation& e) {
    if (!e.module) return "local analysis only: the module has not been asked\n";
    const std::uint32_t verdict = e.module->verdict;
    std::string answer = verdict_name(verdict);
    if (verdict == DJPROBE_VERDICT_INT3) answer += " only";
    if (verdict == DJPROBE_VERDICT_JUMP)
        answer += fmt::format(", by {}", tactic_name(static_cast<x86::Tactic>(e.module->tactic)));
    else if (!e.module_reason.empty())
        answer += ": " + e.module_reason;
    if (e.agrees()) return fmt::format("the module says the same: {}\n", answer);
    if (is_of_the_moment(*e.module))
        return fmt::format("beside what is in the text now the module decides: {}\n", answer);
    return fmt::format(
        "THE MODULE DECIDES OTHERWISE: {}\n"
        "its answer counts; the one above is that of the local analysis\n",
        answer);
}

std::string code_lines(const std::vector<Explanation::Line>& lines, std::size_t width) {
    std::string text;
    for (const auto& line : lines)
        text += fmt::format("  {:<{}} {:016x}  {:<32} {}\n", line.mark, width, line.address,
                            line.bytes, line.text);
    return text;
}

/// The parts that are the same in every detour as one line each.
std::vector<Explanation::Line> shortened(const std::vector<Explanation::Line>& lines) {
    std::vector<Explanation::Line> shown;
    for (std::size_t i = 0; i < lines.size();) {
        std::size_t end = i + 1;
        if (lines[i].mark == "save" || lines[i].mark == "restore")
            while (end < lines.size() && lines[end].mark == lines[i].mark)
                ++end;
        shown.push_back(lines[i]);
        if (end - i > 1) {
            shown.back().bytes = fmt::format("{} instructions", end - i);
            shown.back().text = lines[i].mark == "save"
                                    ? "frame record, pt_regs, arguments of the handler"
                                    : "pt_regs, flags last";
        }
        i = end;
    }
    return shown;
}

}  // namespace

std::string explain_text(const Explanation& e) {
    std::string text =
        fmt::format("{} ({:#x}) in {}\n", e.site, e.address, e.source) + verdict_line(e);
    text += module_lines(e);
    if (!e.mainline) return text;
    text += "\nchecks\n" + check_lines(e.checks);
    if (!e.tactics.empty()) text += "\ntactics\n" + check_lines(e.tactics);
    text += "\nkprobes of this kernel\n  " + std::string(mainline_name(e.mainline->kind));
    text += fmt::format(": {}{}\n", e.mainline->rule,
                        e.mainline_at.empty() ? "" : " (" + e.mainline_at + ")");
    text +=
        "\ncode (IA: the site; DCR: displaced; JTPR: nothing may land in the bytes behind its "
        "first)\n" +
        code_lines(e.original, 11);
    if (!e.detour.empty())
        text += "\ndetour (at a made-up address)\n" + code_lines(shortened(e.detour), 18);
    return text;
}

}  // namespace djprobe::loader
