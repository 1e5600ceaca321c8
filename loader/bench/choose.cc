// SPDX-License-Identifier: GPL-2.0
#include "bench/choose.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "../../arch/x86/insn/decode.h"
#include "base/error.h"

namespace djprobe::loader {
namespace {

constexpr unsigned kTrialCalls = 64;
constexpr std::uint64_t kFtraceNop = 5;
// Nothing of the entry's region, and registers in use.
constexpr std::uint64_t kBehindEntry = 16;
constexpr std::size_t kMostCandidates = 12;

std::optional<x86::Insn> decode_at(const std::vector<std::uint8_t>& code, std::uint64_t offset) {
    x86::Insn insn;
    if (offset >= code.size() ||
        !x86::decode({code.data() + offset, code.size() - offset}, offset, insn))
        return std::nullopt;
    return insn;
}

void call(const Workload& workload, unsigned times) {
    for (unsigned i = 0; i < times; ++i)
        workload.call();
}

/// Hits of a kprobe of the kernel's own while the workload runs; none where it refuses.
std::optional<std::uint64_t> hits_at(Rig& rig, const BenchSite& site, BenchMechanism mechanism,
                                     const Workload& workload) {
    const auto is_it = [=](const MechanismInfo& info) { return info.mechanism == mechanism; };
    const MechanismInfo& info = *std::ranges::find_if(mechanisms(), is_it);
    try {
        Installed probe = rig.install(info, site, Body::kCounter);
        call(workload, kTrialCalls);
        const std::optional<std::uint64_t> hits = probe.take_hits();
        probe.remove();
        return hits;
    } catch (const Error& error) {
        if (error.code() == ExitCode::kNoPermission) throw;
        return std::nullopt;
    }
}

const Workload& choose_workload(Rig& rig, const BenchSite& entry) {
    const auto known = std::ranges::find_if(
        workloads(), [&](const Workload& one) { return entry.function == one.function; });
    if (known != workloads().end()) return *known;
    std::string names;
    for (const Workload& workload : workloads()) {
        if (hits_at(rig, entry, BenchMechanism::kKprobeInt3, workload) == kTrialCalls)
            return workload;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", workload.name);
    }
    fail(ExitCode::kNoSuchSite,
         "{}: none of the calls that the benchmark can make ({}) enters it exactly once; without "
         "--func it takes {}",
         entry.function, names, workloads().front().function);
}

bool we_jump(Rig& rig, const BenchSite& site) {
    if (rig.device() == nullptr) return true;
    SiteSpec place;
    place.symbol = site.function;
    place.offset = site.offset;
    const djprobe_explain answer = rig.device()->explain(place, rig.symbolizer());
    return answer.verdict == DJPROBE_VERDICT_JUMP && answer.tactic == DJPROBE_TACTIC_WINDOW;
}

std::optional<BenchSite> choose_middle(Rig& rig, const BenchSite& entry, const Workload& workload) {
    const auto* const code = rig.text_of(entry.function);
    if (code == nullptr) return std::nullopt;
    std::vector<BenchMechanism> wishes = {BenchMechanism::kKprobeInt3};
    if (rig.optimization().exists())
        wishes.insert(wishes.begin(), BenchMechanism::kKprobeOptimized);
    for (const BenchMechanism wanted : wishes) {
        std::size_t tried = 0;
        for (const std::uint64_t offset : boundaries(*code, entry.offset)) {
            BenchSite site{"middle", entry.function, offset, false};
            if (offset < entry.offset + kBehindEntry || !we_jump(rig, site)) continue;
            if (++tried > kMostCandidates) break;
            if (hits_at(rig, site, wanted, workload) == kTrialCalls) return site;
        }
    }
    return std::nullopt;
}

/// Where a probe on the function's entry goes: by its text, else by what our module says.
std::uint64_t find_entry(Rig& rig, const std::string& function) {
    const FunctionRange range = rig.function(function);
    if (const auto* const code = rig.text_of(function)) return entry_offset(*code);
    if (rig.device() == nullptr)
        fail(ExitCode::kFailure,
             "neither /proc/kcore nor the module djprobe is there: nothing tells where {}'s first "
             "instruction is: load the module (modprobe djprobe)",
             function);
    SiteSpec place;
    place.symbol = function;
    return rig.device()->explain(place, rig.symbolizer()).address - range.address;
}

}  // namespace

std::uint64_t entry_offset(const std::vector<std::uint8_t>& code) {
    std::uint64_t offset = 0;
    // A sealed endbr64 is a nop of the same four bytes.
    for (int skipped = 0; skipped < 2; ++skipped) {
        const auto insn = decode_at(code, offset);
        if (!insn || (insn->kind != x86::Kind::Endbr && insn->kind != x86::Kind::Nop)) break;
        offset += insn->length;
        if (insn->length == kFtraceNop) break;
    }
    return offset;
}

std::vector<std::uint64_t> boundaries(const std::vector<std::uint8_t>& code, std::uint64_t offset) {
    std::vector<std::uint64_t> found;
    while (const auto insn = decode_at(code, offset)) {
        found.push_back(offset);
        if (insn->is_terminal() || insn->kind == x86::Kind::Int3) break;
        offset += insn->length;
    }
    return found;
}

BenchPlace choose_place(Rig& rig, const std::optional<SiteSpec>& wanted) {
    if (wanted && (wanted->symbol.empty() || wanted->symbol.find(':') != std::string::npos))
        fail(ExitCode::kUsage, "--func: {}: give a function of the kernel itself by its name",
             wanted->str());
    BenchSite entry;
    entry.name = "entry";
    entry.function = wanted ? wanted->symbol : workloads().front().function;
    entry.offset = find_entry(rig, entry.function);

    BenchPlace place{&choose_workload(rig, entry), {entry}};
    if (wanted && wanted->offset != 0 && wanted->offset != entry.offset) {
        place.sites.push_back({"middle", entry.function, wanted->offset, false});
    } else if (auto middle = choose_middle(rig, entry, *place.workload)) {
        place.sites.push_back(std::move(*middle));
    }
    return place;
}

}  // namespace djprobe::loader
