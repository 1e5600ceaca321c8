// SPDX-License-Identifier: GPL-2.0
#include "survey/stand_in.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <optional>

namespace djprobe::loader {
namespace {

using x86::Insn;
using x86::Kind;
using x86::Reserved;

// Far enough for what sets up a call's arguments.
constexpr int kMostBefore = 8;
// In a row, each of which has two ways on.
constexpr int kMostLabels = 3;

bool writes_memory(Span<const u8> bytes) {
    ZydisDecoder decoder;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &insn, operands)))
        return true;
    return std::any_of(operands, operands + insn.operand_count, [](const auto& operand) {
        return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
               (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    });
}

class Finder {
  public:
    Finder(const TextMap& map, std::size_t function, std::uint64_t site)
        : map_(map), index_(function), code_(map.functions()[function].code), site_(site) {}

    std::vector<StandIn> find() const {
        const TextMap::Surroundings around(map_, index_);
        const Reserved* const owner = around.reserved({site_, site_ + 1});
        const std::uint64_t entry = map_.entry(index_);
        if (site_ < entry) return behind_entry(entry);
        std::vector<StandIn> behind;
        if (owner && owner->reason == Reason::JUMP_LABEL && owner->range.begin == site_)
            behind = behind_label(*owner, kMostLabels);
        const bool all_jump = std::ranges::all_of(behind, &StandIn::by_jump);
        if (!behind.empty() && all_jump) return behind;
        const auto one = before();
        return one && (behind.empty() || one->by_jump) ? std::vector{*one} : behind;
    }

  private:
    [[nodiscard]] std::optional<Insn> insn_at(std::uint64_t address) const {
        Insn insn;
        if (!code_.range().contains(address) || !map_.is_insn_start(address)) return std::nullopt;
        if (!x86::decode(code_.from(address), address, insn)) return std::nullopt;
        return insn;
    }
    [[nodiscard]] std::optional<Insn> insn_before(std::uint64_t address) const {
        std::uint64_t at = address;
        while (at > code_.address && !map_.is_insn_start(--at)) {
        }
        if (at == address) return std::nullopt;
        const auto insn = insn_at(at);
        return insn && insn->end() == address ? insn : std::nullopt;
    }
    // Other than from `source`, and by falling through.
    [[nodiscard]] bool is_arrived_at(std::uint64_t address, std::uint64_t source) const {
        return std::ranges::any_of(map_.arrivals({address, address + 1}), [&](const auto& landing) {
            return landing.source != source || source == 0;
        });
    }
    [[nodiscard]] std::optional<StandIn> probe_at(std::uint64_t address) const {
        x86::Plan plan;
        if (!insn_at(address) || map_.plan(index_, address, plan)) return std::nullopt;
        return StandIn{address, 0, false, plan.may_jump()};
    }

    [[nodiscard]] std::vector<StandIn> behind_entry(std::uint64_t entry) const {
        if (is_arrived_at(entry, 0)) return {};
        if (const auto one = probe_at(entry)) return {*one};
        return {};
    }

    // A label goes on behind itself or to its target, where another one may be.
    [[nodiscard]] std::vector<StandIn> behind_label(const Reserved& label, int depth) const {
        const std::uint64_t at = label.range.begin, next = label.range.end;
        const std::uint64_t target = target_of(label);
        if (target == 0 || is_arrived_at(next, 0) || is_arrived_at(target, at)) return {};
        const auto above = insn_before(target);
        if (target == next || !above || !above->is_terminal()) return {};
        std::vector<StandIn> one = from_on(next, depth), other = from_on(target, depth);
        if (one.empty() || other.empty()) return {};
        one.insert(one.end(), other.begin(), other.end());
        return one;
    }
    [[nodiscard]] std::vector<StandIn> from_on(std::uint64_t address, int depth) const {
        if (const auto one = probe_at(address)) return {*one};
        const Reserved* const owner =
            TextMap::Surroundings(map_, index_).reserved({address, address + 1});
        if (depth == 0 || !owner || owner->reason != Reason::JUMP_LABEL) return {};
        return behind_label(*owner, depth - 1);
    }
    [[nodiscard]] std::uint64_t target_of(const Reserved& label) const {
        for (const x86::Landing& landing : map_.arrivals(code_.range()))
            if (landing.source == label.range.begin) return landing.target;
        return 0;
    }

    // The nearest one that gets a jump, else the nearest.
    [[nodiscard]] std::optional<StandIn> before() const {
        std::optional<StandIn> nearest;
        x86::RegisterSet writes = 0;
        bool memory = false;
        std::uint64_t at = site_;
        for (int i = 0; i < kMostBefore && !is_arrived_at(at, 0); ++i) {
            const auto insn = insn_before(at);
            if (!insn || (insn->kind != Kind::Plain && insn->kind != Kind::Nop)) break;
            if (is_owned(*insn)) break;
            at = insn->address;
            const auto bytes = code_.from(at).first(insn->length);
            writes |= x86::find_effects(*insn, bytes).writes;
            memory |= writes_memory(bytes);
            const auto found = probe_at(at);
            if (!found || (nearest && !found->by_jump)) continue;
            nearest = StandIn{at, writes, memory, found->by_jump};
            if (found->by_jump) break;
        }
        return nearest;
    }
    // A jump label that is off looks like a nop.
    [[nodiscard]] bool is_owned(const Insn& insn) const {
        return TextMap::Surroundings(map_, index_).reserved({insn.address, insn.end()}) != nullptr;
    }

    const TextMap& map_;
    std::size_t index_;
    Code code_;
    std::uint64_t site_;
};

}  // namespace

std::vector<StandIn> stand_ins(const TextMap& map, std::size_t function, std::uint64_t site) {
    return Finder(map, function, site).find();
}

}  // namespace djprobe::loader
