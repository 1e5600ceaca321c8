// SPDX-License-Identifier: GPL-2.0
#include "run/placement.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>

#include "djprobe.h"

namespace djprobe::loader {
namespace {

template <class Struct>
std::optional<Struct> parse(std::span<const std::byte> bytes) {
    const std::size_t known = std::min(bytes.size(), sizeof(Struct));
    const auto is_set = [](std::byte byte) { return byte != std::byte{}; };
    if (std::ranges::any_of(bytes.subspan(known), is_set)) return std::nullopt;
    Struct parsed = {};
    std::memcpy(&parsed, bytes.data(), known);
    return parsed;
}

template <class Struct>
bool is_zero(const Struct& value) {
    const Struct zero = {};
    return std::memcmp(&value, &zero, sizeof value) == 0;
}

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Samples, counts, inheritance and the like: all that a program's event does not need. bcc asks
// for a period of 1.
bool has_options(perf_event_attr attr) {
    if (attr.sample_period > 1) return true;
    attr.type = attr.size = 0;
    attr.config = attr.config1 = attr.config2 = 0;
    attr.sample_period = 0;
    attr.wakeup_events = 0;
    attr.disabled = 0;
    return !is_zero(attr);
}

}  // namespace

std::optional<KprobePmu> find_kprobe_pmu(std::string_view folder) {
    const std::string type = line_of(std::string(folder) + "/type");
    const std::string bit = line_of(std::string(folder) + "/format/retprobe");  // "config:0"
    constexpr std::string_view kPrefix = "config:";
    if (type.empty() || !bit.starts_with(kPrefix)) return std::nullopt;
    return KprobePmu{static_cast<std::uint32_t>(std::stoul(type)),
                     std::uint64_t{1} << std::stoul(bit.substr(kPrefix.size()))};
}

std::optional<perf_event_attr> parse_attr(std::span<const std::byte> bytes) {
    return parse<perf_event_attr>(bytes);
}

Decision decide_event(const perf_event_attr& attr, const EventArguments& arguments,
                      const std::optional<KprobePmu>& pmu) {
    if (!pmu || attr.type != pmu->type) return {Side::kOther};
    if (attr.config & ~pmu->return_bit) return {Side::kKernel, "unknown-config"};
    if (arguments.flags & ~std::uint64_t{PERF_FLAG_FD_CLOEXEC})
        return {Side::kKernel, "unknown-flags"};
    if (arguments.group != -1) return {Side::kKernel, "event-group"};
    // The program of an event runs for all tasks on all CPUs whatever these say; CPU 0 of all tasks
    // is what tools ask for. Other arguments may be wrong.
    if (arguments.pid != -1) return {Side::kKernel, "one-task"};
    if (arguments.cpu != 0) return {Side::kKernel, "one-cpu"};
    if (has_options(attr)) return {Side::kKernel, "event-options"};
    if (attr.config && attr.config1 && attr.config2) return {Side::kKernel, "return-at-offset"};
    return {Side::kOurs};
}

std::optional<LinkAttributes> parse_link(std::span<const std::byte> bytes) {
    return parse<LinkAttributes>(bytes);
}

bool is_odd_link(std::span<const std::byte> bytes) {
    constexpr std::size_t kFlags = offsetof(LinkAttributes, flags);
    constexpr std::size_t kCookie = offsetof(LinkAttributes, cookie);
    const auto is_set = [&](std::size_t from, std::size_t to) {
        to = std::min(to, bytes.size());
        return from < to && std::ranges::any_of(bytes.subspan(from, to - from),
                                                [](std::byte byte) { return byte != std::byte{}; });
    };
    return is_set(kFlags, kCookie) || is_set(kCookie + sizeof(std::uint64_t), bytes.size());
}

Decision decide_link(const LinkAttributes& link) {
    // What the program returns at the entry decides about the return, and it may ask its link.
    if (link.attach_type == kKprobeSession) return {Side::kKernel, "session"};
    if (link.attach_type != BPF_TRACE_KPROBE_MULTI) return {Side::kOther};
    const auto& multi = link.multi;
    if (link.flags || link.target_fd || multi.flags & ~std::uint32_t{BPF_F_KPROBE_MULTI_RETURN})
        return {Side::kKernel, "unknown-flags"};
    if (!multi.count || multi.count > DJPROBE_MANY_MAX || !multi.symbols == !multi.addresses)
        return {Side::kKernel, "odd-list"};
    return {Side::kOurs};
}

}  // namespace djprobe::loader
