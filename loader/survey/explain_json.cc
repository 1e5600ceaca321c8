// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "kernel/reason.h"
#include "survey/explain.h"
#include "survey/words.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(std::uint64_t address) {
    return fmt::format("{:#x}", address);
}

Json checks_json(const std::vector<Explanation::Check>& checks) {
    Json json = Json::array();
    for (const auto& check : checks)
        json.push_back({{"name", check.name}, {"passed", check.passed}, {"text", check.text}});
    return json;
}

Json lines_json(const std::vector<Explanation::Line>& lines) {
    Json json = Json::array();
    for (const auto& line : lines)
        json.push_back({{"address", hex(line.address)},
                        {"bytes", line.bytes},
                        {"text", line.text},
                        {"part", line.mark}});
    return json;
}

/// verdict, tactic, reason, dcr: as survey says them.
Json decision_json(const char* verdict, bool jump, std::uint32_t tactic, std::uint32_t reason,
                   unsigned dcr) {
    return {{"verdict", verdict},
            {"tactic", jump ? tactic_name(static_cast<x86::Tactic>(tactic)) : "none"},
            {"reason", reason_name(reason)},
            {"dcr", jump ? dcr : 0}};
}

}  // namespace

std::string explain_json(const Explanation& e) {
    const bool jump = !e.refusal && e.plan.may_jump();
    const djprobe::Reason reason = e.refusal ? e.refusal.reason : e.plan.jump.reason;
    Json json = {
        {"type", "explain"}, {"site", e.site}, {"address", hex(e.address)}, {"source", e.source}};
    json.update(decision_json(verdict_name(verdict_of(e.refusal, e.plan)), jump,
                              static_cast<std::uint32_t>(e.plan.tactic),
                              static_cast<std::uint32_t>(reason), e.plan.region.length));
    json["text"] = e.reason;
    if (jump) {
        json["anchor"] = hex(e.plan.anchor);
        json["before"] = e.plan.before;
        if (e.plan.tactic == x86::Tactic::Springboard) json["board"] = hex(e.plan.board);
    }
    json["module"] = nullptr;
    if (e.module) {
        json["module"] = decision_json(verdict_name(e.module->verdict),
                                       e.module->verdict == DJPROBE_VERDICT_JUMP, e.module->tactic,
                                       e.module->reason, e.module->region_len);
        json["module"]["text"] = e.module_reason;
        json["module"]["agrees"] = e.agrees();
    }
    json["checks"] = checks_json(e.checks);
    json["tactics"] = checks_json(e.tactics);
    json["mainline"] = nullptr;
    if (e.mainline)
        json["mainline"] = {{"verdict", mainline_name(e.mainline->kind)},
                            {"rule", e.mainline->rule},
                            {"at", e.mainline_at}};
    json["code"] = lines_json(e.original);
    json["detour"] = lines_json(e.detour);
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace djprobe::loader
