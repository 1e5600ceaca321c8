// SPDX-License-Identifier: GPL-2.0
#include "blocks/flow_facts.h"

#include <algorithm>

#include "../../arch/x86/insn/scan.h"

namespace djprobe::loader {
namespace {

void add_part(const TextMap& map, std::size_t function, FlowFacts& facts) {
    const TextMap::Function& part = map.functions()[function];
    facts.parts.push_back(
        {part.code.address, part.code.bytes.first(part.real_end - part.code.address)});
    facts.jumps_anywhere |= static_cast<bool>(part.indirect_jump);
}

// The parts that it jumps to.
Refusal add_cold(const TextMap& map, FlowFacts& facts) {
    const Code body = facts.parts.front();
    return x86::for_each_insn(body, body.range().end, [&](const x86::Insn& insn) {
        const std::size_t none = map.functions().size();
        const std::size_t target = insn.rel_size ? map.find(insn.target) : none;
        if (target == none) return true;
        const TextMap::Function& part = map.functions()[target];
        const bool known = std::ranges::any_of(
            facts.parts, [&](const Code& code) { return code.address == part.code.address; });
        if (!known && part.name.find(kColdPart) != part.name.npos) add_part(map, target, facts);
        return true;
    });
}

// The first one that begins at the address or behind it.
auto reserved_from(const TextMap& map, std::uint64_t address) {
    return std::ranges::lower_bound(map.facts().reserved, address, {},
                                    [](const x86::Reserved& one) { return one.range.begin; });
}

// Ftrace's list of its calls holds addresses to which no code jumps.
bool is_ftrace_table(const TextMap& map, const x86::Landing& landing) {
    const auto at = reserved_from(map, landing.target);
    return landing.reason == Reason::POINTER_INTO_REGION && at != map.facts().reserved.end() &&
           at->range.begin == landing.target && at->reason == Reason::FTRACE_SITE;
}

void add_facts(const TextMap& map, Range range, FlowFacts& facts) {
    for (const x86::Landing& landing : map.arrivals(range))
        if (!is_ftrace_table(map, landing)) facts.landings.push_back(landing);
    auto at = reserved_from(map, range.begin);
    for (; at != map.facts().reserved.end() && at->range.begin < range.end; ++at) {
        if (at->reason == Reason::EXTABLE_INSN) facts.faults.push_back(at->range.begin);
        // The compiler has made it of a call through a variable.
        if (at->reason == Reason::STATIC_CALL) facts.returning.push_back(at->range.begin);
    }
}

}  // namespace

Refusal find_flow_facts(const TextMap& map, std::size_t function, FlowFacts& facts) {
    add_part(map, function, facts);
    if (const Refusal refusal = add_cold(map, facts)) return refusal;
    for (const Code& part : facts.parts)
        add_facts(map, part.range(), facts);
    return {};
}

}  // namespace djprobe::loader
