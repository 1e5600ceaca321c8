// SPDX-License-Identifier: GPL-2.0
#include "session/kernel_probes.h"

#include <bpf/bpf.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/descriptors.h"
#include "base/error.h"
#include "base/plural.h"
#include "base/say.h"
#include "kernel/reason.h"
#include "kernel/rights.h"
#include "kernel/traceable.h"
#include "session/backend.h"

namespace djprobe::loader {
namespace {

bool is_multi(const Program& program) {
    return bpf_program__expected_attach_type(program.handle) == BPF_TRACE_KPROBE_MULTI;
}

std::string mechanism_of(const Target& target) {
    return std::string(target.at_returns ? "kretprobe" : "kprobe") +
           (is_multi(target.program) ? ".multi" : "");
}

[[noreturn]] void fail_to_attach(const Target& target, int error) {
    const std::string what =
        fmt::format("{}: the kernel's {}", target.site.str(), mechanism_of(target));
    if (error == ENOENT && has_no_kprobes())
        fail(ExitCode::kNotLoaded,
             "{}: this kernel is built without it (CONFIG_KPROBE_EVENTS): load djprobe ('probeload "
             "doctor' says what that needs)",
             what);
    if (error == ENOENT || error == ESRCH)
        fail(ExitCode::kNoSuchSite, "{}: there is no such place", what);
    if (error == EILSEQ)
        fail(ExitCode::kNoSuchSite, "{}: not the first byte of an instruction", what);
    if (error == EPERM || error == EACCES)
        fail(ExitCode::kNoPermission, "{}: not permitted: {}", what, why_denied(kToProbe));
    if (error == EOPNOTSUPP && is_multi(target.program))
        fail(ExitCode::kRefusedSite,
             "{}: this kernel is built without it (CONFIG_FPROBE): name each function", what);
    if (error == EMFILE) fail(ExitCode::kFailure, "{}: {}", what, out_of_descriptors());
    fail(ExitCode::kRefusedSite, "{}: refused: {}", what, std::strerror(error));
}

[[noreturn]] void refuse(const Target& target, djprobe_reason reason, Symbolizer& symbolizer) {
    throw refusal(target.site, target.program.name, {reason, {}}, ENOENT, symbolizer);
}

// An offset that is too large the kernel takes for a place in the next function.
void check_offset(const Target& target, const Symbol& function, Symbolizer& symbolizer) {
    if (target.site.is_counted_from_text()) return;
    const Symbol* const in =
        symbolizer.kallsyms().at_or_below(function.address + target.site.offset);
    if (!in || in->address != function.address) refuse(target, DJPROBE_REASON_PAST_END, symbolizer);
}

// Nothing where the kernel hides its symbols: it looks for the name itself then.
std::optional<std::uint64_t> address_of(const Target& target, Symbolizer& symbolizer) {
    const SiteSpec& site = target.site;
    if (site.symbol.empty()) return site.address;
    const Kallsyms& kallsyms = symbolizer.kallsyms();
    if (kallsyms.symbols().empty()) return std::nullopt;
    const std::vector<Symbol> found = kallsyms.find(site.symbol);
    if (found.empty()) refuse(target, DJPROBE_REASON_NO_SUCH_SYMBOL, symbolizer);
    if (found.size() > 1) refuse(target, DJPROBE_REASON_AMBIGUOUS_SYMBOL, symbolizer);
    if (kallsyms.are_hidden()) return std::nullopt;
    check_offset(target, found.front(), symbolizer);
    return found.front().address + site.offset;
}

// One of those that a program for patterns has beside them.
std::vector<std::uint64_t> whole_function(const Target& target, Symbolizer& symbolizer) {
    const auto address = address_of(target, symbolizer);
    if (target.site.offset != 0 || !address)
        fail(ExitCode::kRefusedSite,
             "{}: the kernel's kprobe.multi, which program '{}' needs for its pattern, takes whole "
             "functions only",
             target.site.str(), target.program.name);
    return {*address};
}

std::vector<std::uint64_t> functions_of(const Target& target, Symbolizer& symbolizer) {
    if (!target.site.is_glob()) return whole_function(target, symbolizer);
    const std::vector<unsigned long> functions = traceable_like(symbolizer, target.site.symbol);
    return {functions.begin(), functions.end()};
}

std::string place_of(const Target& target, std::size_t count) {
    if (!target.site.is_glob()) return target.site.str();
    return fmt::format("{} like '{}'", plural(count, "function"), target.site.str());
}

bpf_prog_info info_of(const Program& program) {
    bpf_prog_info info = {};
    __u32 size = sizeof info;
    bpf_obj_get_info_by_fd(program.fd(), &info, &size);
    return info;
}

// What a probe has missed before it came to the program: hits within another probe, and calls
// beyond those that a kretprobe can follow at a time. Kernels up to 6.6 do not tell.
std::uint64_t missed_before(const bpf_link& link) {
    // struct bpf_link_info of 6.7, which the headers that we are built with may not have yet.
    struct {
        __u32 type, id, program, unused;
        std::array<__u64, 12> words;
    } info = {};
    constexpr std::size_t kOfMulti = 2, kOfOne = 4;
    __u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(bpf_link__fd(&link), &info, &size) != 0) return 0;
    if (info.type == BPF_LINK_TYPE_KPROBE_MULTI) return info.words[kOfMulti];
    return info.type == BPF_LINK_TYPE_PERF_EVENT ? info.words[kOfOne] : 0;
}

}  // namespace

std::string kernel_report_text(const KernelReport& report) {
    const std::string hits = report.hits ? std::to_string(*report.hits) : "not counted";
    return fmt::format("{}: hits {}, missed {}, by {}\n", report.places, hits, report.missed,
                       report.mechanism);
}

nlohmann::ordered_json kernel_report_json(const KernelReport& report) {
    nlohmann::ordered_json json;
    json["kind"] = "kernel";
    json["places"] = report.places;
    json["program"] = report.program;
    json["mechanism"] = report.mechanism;
    json["hits"] = nullptr;
    if (report.hits) json["hits"] = *report.hits;
    json["missed"] = report.missed;
    return json;
}

void aim_at_kernel(const std::vector<Target>& targets) {
    for (const Target& target : targets)
        if (target.site.is_glob())
            bpf_program__set_expected_attach_type(target.program.handle, BPF_TRACE_KPROBE_MULTI);
}

void KernelProbes::note(const Target& target, const std::string& place, std::size_t probes,
                        bpf_link* link) {
    const std::string mechanism = mechanism_of(target);
    auto known = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return entry.report.program == target.program.name; });
    if (known == entries_.end()) {
        const KernelReport none{target.program.name, place, mechanism, target.at_returns, 0, {}};
        known = entries_.insert(known, Entry{target.program, none, {}});
    } else {
        known->report.places += ", " + place;
    }
    known->links.emplace_back(link);
    known->report.probes += probes;
    say("attached {} by {}\n", place, mechanism);
}

void KernelProbes::detach() {
    for (Entry& entry : entries_)
        for (std::unique_ptr<bpf_link, Unlink>& link : std::exchange(entry.links, {})) {
            entry.report.missed += missed_before(*link);
            link.reset();
        }
}

// By its name and by its address it is one place, and each hit would count twice.
bool KernelProbes::is_twin(const Target& target, std::optional<std::uint64_t> address) {
    if (!address || known_.emplace(target.program.name, *address).second) return false;
    say("probeload: {} is given twice: attached once\n", target.site.str());
    return true;
}

bpf_link* KernelProbes::link_one(const Target& target, const Cookies& cookies,
                                 std::optional<std::uint64_t> address) {
    const SiteSpec& site = target.site;
    // The kernel looks for names without their module.
    const char* const name = address ? nullptr : site.symbol.c_str();
    LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = cookies.first,
                .offset = address.value_or(site.offset), .retprobe = target.at_returns);
    return bpf_program__attach_kprobe_opts(target.program.handle, name, &opts);
}

bpf_link* KernelProbes::link_many(const Target& target, const Cookies& cookies,
                                  const std::vector<std::uint64_t>& functions) {
    const std::vector<unsigned long> addresses(functions.begin(), functions.end());
    std::vector<__u64> each(functions.size(), cookies.first);
    if (cookies.are_numbers) std::iota(each.begin(), each.end(), cookies.first);
    LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .addrs = addresses.data(),
                .cookies = cookies.first || cookies.are_numbers ? each.data() : nullptr,
                .cnt = addresses.size(), .retprobe = target.at_returns);
    return bpf_program__attach_kprobe_multi_opts(target.program.handle, nullptr, &opts);
}

std::vector<std::uint64_t> KernelProbes::attach_with(const Target& target, const Cookies& cookies,
                                                     Symbolizer& symbolizer) {
    // Without it the kernel does not count the runs. It costs at each run of any program.
    if (!cookies.are_numbers && !statistics_)
        statistics_ = UniqueFd(bpf_enable_stats(BPF_STATS_RUN_TIME));
    bpf_link* link = nullptr;
    std::vector<std::uint64_t> places;
    if (is_multi(target.program)) {
        places = functions_of(target, symbolizer);
        link = link_many(target, cookies, places);
    } else {
        const auto address = address_of(target, symbolizer);
        if (is_twin(target, address)) return {};
        places = {address.value_or(0)};
        link = link_one(target, cookies, address);
    }
    if (!link) fail_to_attach(target, errno);
    note(target, place_of(target, places.size()), places.size(), link);
    return places;
}

std::vector<std::uint64_t> KernelProbes::attach(const Target& target, const AttachOptions& options,
                                                Symbolizer& symbolizer) {
    return attach_with(target, Cookies{options.cookie, false}, symbolizer);
}

std::vector<std::uint64_t> KernelProbes::attach_numbered(const Target& target, std::uint64_t first,
                                                         Symbolizer& symbolizer) {
    return attach_with(target, Cookies{first, true}, symbolizer);
}

std::vector<KernelReport> KernelProbes::reports() const {
    std::vector<KernelReport> reports;
    for (const Entry& entry : entries_) {
        const bpf_prog_info info = info_of(entry.program);
        reports.push_back(entry.report);
        if (statistics_) reports.back().hits = info.run_cnt;
        reports.back().missed += info.recursion_misses;
        for (const std::unique_ptr<bpf_link, Unlink>& link : entry.links)
            reports.back().missed += missed_before(*link);
    }
    return reports;
}

}  // namespace djprobe::loader
