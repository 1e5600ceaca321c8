// SPDX-License-Identifier: GPL-2.0
#include "blocks/function_flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/progress.h"
#include "blocks/flow_facts.h"
#include "kernel/live_modules.h"

namespace djprobe::loader {
namespace {

using x86::Insn;
using x86::Kind;

// So many instructions of a block are asked about; most often the first one will do.
constexpr std::size_t kTries = 8;

// Where code of the kernel may lead to. A probe leads elsewhere: to what was made at run time, and
// has a name by that.
class Texts {
  public:
    explicit Texts(const KernelImage& image)
        : symbols_(image.symbols()), ranges_{{image.require("_stext"), image.require("_etext")}} {
        for (const LiveModule& module : live_modules()) {
            names_.insert(module.name);
            ranges_.push_back({module.base, module.base + module.size});
        }
        names_.erase("djprobe");
    }
    [[nodiscard]] bool contains(std::uint64_t address) const {
        return std::ranges::any_of(ranges_, [&](Range range) { return range.contains(address); });
    }
    [[nodiscard]] bool is_made(std::uint64_t address) const {
        const Symbol* const symbol = symbols_.at_or_below(address);
        return symbol && !symbol->module.empty() && !names_.contains(symbol->module);
    }

  private:
    const Kallsyms& symbols_;
    std::vector<Range> ranges_;
    std::set<std::string, std::less<>> names_;  // of modules
};

class Reader {
  public:
    Reader(const TextMap& map, const Texts& texts) : map_(map), texts_(texts) {}

    [[nodiscard]] FunctionFlow read(std::size_t function) const {
        FunctionFlow flow;
        flow.name = map_.name(function);
        flow.module = map_.facts().module;
        FlowFacts facts;
        const Refusal unknown = find_flow_facts(map_, function, facts);
        flow.refused = map_.forbidden(function);
        if (!flow.refused) flow.refused = unknown;
        flow.parts = facts.parts;
        if (flow.refused) return flow;
        flow.blocks = find_blocks(facts, flow.refused);
        if (!flow.refused) flow.refused = find_patched(flow);
        if (flow.refused) return flow;
        flow.places.reserve(flow.blocks.size());
        for (const Block& block : flow.blocks)
            flow.places.push_back(find_place(block, flow.parts));
        return flow;
    }

  private:
    // A jump that the kernel's own code does not have.
    [[nodiscard]] Refusal find_patched(const FunctionFlow& flow) const {
        for (const Block& block : flow.blocks) {
            if (!may_end_with_jump(block, flow.parts)) continue;
            const Insn last = insns_of(block, flow.parts).back();
            const bool jumps = last.kind == Kind::Jump && last.length == x86::kJumpLength;
            // A thunk may have been made at boot, and has no name.
            const bool known =
                texts_.contains(last.target) || map_.facts().indirect_thunks.contains(last.target);
            if (jumps && (!known || texts_.is_made(last.target)))
                return Refusal{Reason::FOREIGN_PATCH, last.address};
        }
        return {};
    }

    // Without decoding it.
    [[nodiscard]] static bool may_end_with_jump(const Block& block,
                                                const std::vector<Code>& parts) {
        constexpr u8 kJumpOpcode = 0xe9;
        if (block.range.size() < x86::kJumpLength) return false;
        const std::uint64_t at = block.range.end - x86::kJumpLength;
        return std::ranges::any_of(parts, [&](const Code& part) {
            return part.range().contains(at) && part.from(at)[0] == kJumpOpcode;
        });
    }

    // As the module will decide: it need not decode the function again for each answer.
    [[nodiscard]] std::optional<CountPlace> find_place(const Block& block,
                                                       const std::vector<Code>& parts) const {
        std::optional<CountPlace> place;
        const std::size_t part = map_.find(block.range.begin);
        std::size_t tries = 0;
        for_each_insn_of(block, parts, [&](const Insn& insn) {
            if (tries++ == kTries) return false;
            // The module takes a function's first byte for its entry.
            const bool first = insn.address == map_.functions()[part].code.address;
            const std::uint64_t site = first ? map_.entry(part) : insn.address;
            x86::Plan plan;
            const bool fits = block.range.contains(site) && !map_.plan(part, site, plan);
            const bool jump = fits && plan.may_jump();
            if (jump || (fits && !place)) place = CountPlace{site, jump};
            // Behind a call it would be counted when the call returns, if it does.
            return !jump && !insn.is_call();
        });
        return place;
    }

    const TextMap& map_;
    const Texts& texts_;
};

}  // namespace

std::string FunctionFlow::offset(std::uint64_t at) const {
    for (const Code& part : parts)
        if (part.range().contains(at) || at == part.range().end)
            return fmt::format("{}+{:#x}", &part == &parts.front() ? "" : kColdPart,
                               at - part.address);
    return fmt::format("{:#x}", at);
}

std::vector<FunctionFlow> read_flows(KernelImage& image, const std::vector<Symbol>& functions,
                                     const StopSignals& stop) {
    std::map<std::string, std::vector<Symbol>> by_module;
    for (const Symbol& function : functions)
        by_module[std::string(function.module)].push_back(function);
    std::vector<FunctionFlow> flows;
    const Texts texts(image);
    Progress progress("reading functions", functions.size());
    for (const auto& [module, wanted] : by_module) {
        const auto found = analyse_near(image, module, ranges_of(image.symbols(), wanted), &stop);
        if (found.empty()) continue;
        const TextMap& map = found.front().map;
        const Reader reader(map, texts);
        for (const Symbol& function : wanted) {
            stop.check();
            progress.at(flows.size());
            const std::size_t index = map.find(function.address);
            if (index < map.functions().size()) flows.push_back(reader.read(index));
        }
    }
    return flows;
}

}  // namespace djprobe::loader
