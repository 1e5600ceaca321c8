// SPDX-License-Identifier: GPL-2.0
#include "bench/rig.h"

#include <bpf/bpf.h>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/unique_fd.h"
#include "kernel/reason.h"
#include "kernel/rights.h"

namespace djprobe::loader {
namespace {

using namespace std::chrono_literals;

// The kernel's optimizer waits for all tasks to leave the region, which takes it up to a second.
constexpr TextWatch::Duration kLongestWait = 5s;
// Blind, all that we can do is to give the kernel time.
constexpr TextWatch::Duration kBlind = 500ms;
constexpr std::size_t kLongestFunction = 65'536;

/// Whether the kernel calls some kprobe in the function optimized.
bool kernel_says_optimized(const std::string& function) {
    std::ifstream list("/sys/kernel/debug/kprobes/list");
    for (std::string line; std::getline(list, line);) {
        if (line.find(function + "+") != std::string::npos &&
            line.find("[OPTIMIZED]") != std::string::npos)
            return true;
    }
    return false;
}

std::string no_jump_reason(const ProbeState& query, Symbolizer& symbolizer) {
    return describe_reason(reason_of(query), symbolizer);
}

}  // namespace

Rig::Rig(const StopSignals& stop) : stop_(stop) {
    try {
        device_.emplace(Device::open());
        for (const std::string& line : what_is_off(device_->set_switches(0, 0)))
            notices_.push_back(line);
    } catch (const Error& error) {
        if (error.code() != ExitCode::kNotLoaded) throw;
        notices_.emplace_back("the module djprobe is not loaded: only the kernel's own mechanisms");
    }
    try {
        text_.emplace();
    } catch (const Error& error) {
        notices_.push_back(
            fmt::format("{}: what is in the text was not seen, each change was given "
                        "{} ms, and kprobes/list believed about [OPTIMIZED]",
                        error.what(), kBlind.count()));
    }
}

FunctionRange Rig::function(const std::string& name) {
    if (const auto known = functions_.find(name); known != functions_.end()) return known->second;
    const Kallsyms& table = symbolizer_.kallsyms();
    const std::vector<Symbol> found = table.find(name);
    if (found.empty()) {
        SiteSpec site;
        site.symbol = name;
        throw refusal(site, "", {DJPROBE_REASON_NO_SUCH_SYMBOL}, ENOENT, symbolizer_);
    }
    if (found.size() > 1)
        fail(ExitCode::kNoSuchSite,
             "{}: {} functions have this name: choose one that has its name for itself", name,
             found.size());
    const std::uint64_t address = found[0].address;
    if (address == 0)
        fail(ExitCode::kNoPermission, "/proc/kallsyms: addresses are hidden: {}", why_hidden());
    const auto next = std::ranges::upper_bound(table.symbols(), address, {}, &Symbol::address);
    const std::uint64_t end = next == table.symbols().end() ? address + 1 : next->address;
    const FunctionRange range{address, std::min<std::size_t>(end - address, kLongestFunction)};
    return functions_.emplace(name, range).first->second;
}

const TextWatch* Rig::watch(const std::string& name) {
    if (!text_) return nullptr;
    const FunctionRange range = function(name);
    return &watches_.try_emplace(name, *text_, range.address, range.size).first->second;
}

const std::vector<std::uint8_t>* Rig::text_of(const std::string& function) {
    const TextWatch* const found = watch(function);
    return found ? &found->original() : nullptr;
}

Programs& Rig::programs(const MechanismInfo& info, const BenchSite& site) {
    const std::pair key{info.kind, site.function};
    auto at = programs_.find(key);
    if (at == programs_.end()) {
        try {
            at = programs_.emplace(key, Programs::load(info.kind, site.function)).first;
        } catch (const Error& error) {
            if (error.code() == ExitCode::kNoPermission) throw;
            at = programs_.emplace(key, error).first;
        }
    }
    if (const Error* const error = std::get_if<Error>(&at->second)) throw *error;
    return std::get<Programs>(at->second);
}

// The kernel looks for branches into its jump only within one symbol. Those from NAME.cold back
// into NAME it does not see, and dies of them: what it would do must be right by our own analysis.
void Rig::refuse_unsafe(const BenchSite& site) {
    if (device_) {
        SiteSpec place;
        place.symbol = site.function;
        place.offset = site.offset;
        const djprobe_explain answer = device_->explain(place, symbolizer_);
        if (answer.verdict == DJPROBE_VERDICT_JUMP && answer.tactic == DJPROBE_TACTIC_WINDOW)
            return;
        fail(ExitCode::kRefusedSite,
             "not tried: a jump over the bytes here is not safe, which the kernel may not notice");
    }
    for (const Symbol& symbol : symbolizer_.kallsyms().symbols()) {
        if (symbol.name.starts_with(site.function + "."))
            fail(ExitCode::kRefusedSite,
                 "not tried: {} may branch back into it, which the kernel does not notice (with "
                 "the module djprobe this is looked up)",
                 symbol.name);
    }
}

Installed Rig::install(const MechanismInfo& info, const BenchSite& site, Body body) {
    if (info.mechanism == BenchMechanism::kKprobeOptimized && !optimization_.exists())
        fail(ExitCode::kFailure, "this kernel does not optimize kprobes");
    if (info.mechanism == BenchMechanism::kKprobeOptimized) refuse_unsafe(site);
    const TextWatch* const watched = watch(
        info.mechanism == BenchMechanism::kRawTracepoint ? kTracepointFunction : site.function);
    Programs& loaded = programs(info, site);
    optimization_.set(info.optimized());
    Installed installed(BenchProbe::create(info, site, loaded, body, device()), loaded, body,
                        watched);
    installed.attachment_->settle(stop_);
    try {
        installed.await_in_text(info, site, *this);
    } catch (const Error&) {
        installed.remove();
        throw;
    }
    installed.forget_hits();
    return installed;
}

void Installed::await_in_text(const MechanismInfo& info, const BenchSite& site, Rig& rig) {
    const auto query = attachment_->query();
    const bool jumps = info.mechanism == BenchMechanism::kDjprobeJump ||
                       info.mechanism == BenchMechanism::kDjprobeCount;
    if (query && jumps && query->mechanism != DJPROBE_MECHANISM_JUMP && !rig.stop().requested())
        fail(ExitCode::kFailure, "it gets no jump: {}", no_jump_reason(*query, rig.symbolizer()));
    if (watch_ == nullptr) {
        std::this_thread::sleep_for(kBlind);
        if (info.mechanism == BenchMechanism::kKprobeOptimized &&
            !kernel_says_optimized(site.function))
            fail(ExitCode::kFailure, "the kernel does not optimize this kprobe");
        return;
    }
    const auto wanted = [&](std::optional<Patch> patch) {
        if (rig.stop().requested()) return true;
        return patch && (info.opcodes.empty() ||
                         info.opcodes.find(static_cast<char>(patch->opcode)) != std::string::npos);
    };
    patch_ = watch_->wait(wanted, kLongestWait);
    if (rig.stop().requested()) return;
    if (!patch_) fail(ExitCode::kFailure, "it is not in the text after {} s", kLongestWait / 1s);
    if (!wanted(patch_))
        fail(ExitCode::kFailure, "{}: the text is '{}' after {} s",
             info.mechanism == BenchMechanism::kKprobeOptimized ? "the kernel does not optimize it"
                                                                : "something else is there",
             patch_->str(), kLongestWait / 1s);
    seen_ = patch_->str();
}

void Installed::expect_unchanged() const {
    if (watch_ == nullptr) return;
    const std::optional<Patch> now = watch_->patch();
    if (now == patch_) return;
    fail(ExitCode::kFailure, "the text changed while it was measured: from '{}' to '{}'", seen_,
         now ? now->str() : "the original");
}

void Installed::forget_hits() {
    programs_->take_count();
    if (const auto query = attachment_->query()) hits_ = query->hits;
}

std::optional<std::uint64_t> Installed::take_hits() {
    const std::uint64_t counted = programs_->take_count();
    if (const auto query = attachment_->query()) {
        const std::uint64_t hits = query->hits - std::exchange(hits_, query->hits);
        if (body_ != Body::kEmpty && hits != counted)
            fail(ExitCode::kFailure, "the module counted {} hits, the program {}", hits, counted);
        return hits;
    }
    if (body_ == Body::kEmpty) return std::nullopt;
    return counted;
}

std::optional<std::uint64_t> Installed::count_runs(const std::function<void()>& work) const {
    if (attachment_->query()) return std::nullopt;
    const UniqueFd statistics(bpf_enable_stats(BPF_STATS_RUN_TIME));
    if (!statistics) return std::nullopt;
    const int program = bpf_program__fd(programs_->program(body_));
    const auto runs = [program] {
        bpf_prog_info info = {};
        __u32 size = sizeof info;
        bpf_obj_get_info_by_fd(program, &info, &size);
        return info.run_cnt;
    };
    const std::uint64_t before = runs();
    work();
    return runs() - before;
}

void Installed::remove() {
    attachment_.reset();
    if (watch_ == nullptr) {
        std::this_thread::sleep_for(kBlind);
        return;
    }
    const std::optional<Patch> left =
        watch_->wait([](std::optional<Patch> patch) { return !patch; }, kLongestWait);
    if (left)
        fail(ExitCode::kFailure, "the text at {:#x} is still '{}' {} s after the end of the probe",
             watch_->address(), left->str(), kLongestWait / 1s);
}

}  // namespace djprobe::loader
