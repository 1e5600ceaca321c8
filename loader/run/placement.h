// SPDX-License-Identifier: GPL-2.0
// Which of the tool's requests djprobe takes, by their arguments alone. What it does not take, the
// kernel gets as the tool has made it.
#pragma once

#include <linux/bpf.h>
#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace djprobe::loader {

/// How this kernel numbers what perf_event_open() calls a kprobe; nothing where it has none.
struct KprobePmu {
    std::uint32_t type;
    std::uint64_t return_bit;  ///< in attr.config: a kretprobe
};
std::optional<KprobePmu> find_kprobe_pmu(
    std::string_view folder = "/sys/bus/event_source/devices/kprobe");

enum class Side {
    kOther,   ///< no probe is asked for: the kernel's, and nothing to tell of
    kKernel,  ///< a probe that the kernel places
    kOurs,
};

struct Decision {
    Side side;
    std::string_view reason{};  ///< kKernel: a short name for the summary
    bool operator==(const Decision&) const = default;
};

/// The arguments of perf_event_open(), but for the attr.
struct EventArguments {
    std::int32_t pid, cpu, group;
    std::uint64_t flags;
};

/// The most bytes of an attr or of bpf()'s attributes; more are an error of the caller's.
inline constexpr std::size_t kMostAttributes = 4096;

/// The attr as the kernel reads `bytes`: zero-filled; none where it has bytes behind what is known
/// here that are not 0.
std::optional<perf_event_attr> parse_attr(std::span<const std::byte> bytes);
Decision decide_event(const perf_event_attr& attr, const EventArguments& arguments,
                      const std::optional<KprobePmu>& pmu);

/// What BPF_LINK_CREATE asks for, with the fields of both kinds of link that concern us.
struct LinkAttributes {
    std::uint32_t prog_fd, target_fd, attach_type, flags;
    union {
        std::uint64_t cookie;  ///< BPF_PERF_EVENT
        struct {
            std::uint32_t flags, count;
            std::uint64_t symbols, addresses, cookies;
        } multi;  ///< BPF_TRACE_KPROBE_MULTI
    };
};

/// BPF_TRACE_KPROBE_SESSION: since Linux 6.10.
inline constexpr std::uint32_t kKprobeSession = 56;

/// As parse_attr().
std::optional<LinkAttributes> parse_link(std::span<const std::byte> bytes);
/// Of a link whose target is no event fd of the module's.
Decision decide_link(const LinkAttributes& link);
/// Whether a link on an event says more than the kernel reads of such a link.
bool is_odd_link(std::span<const std::byte> bytes);

}  // namespace djprobe::loader
