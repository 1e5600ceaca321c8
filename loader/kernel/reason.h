// SPDX-License-Identifier: GPL-2.0
// The module's reasons as sentences and exit codes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "djprobe.h"
#include "kernel/site_spec.h"
#include "kernel/symbolizer.h"

namespace djprobe::loader {

/// A reason as the ABI carries it; may be newer than this loader.
struct AbiReason {
    std::uint32_t number = DJPROBE_REASON_NONE;
    std::uint64_t detail[2] = {};
    /// What is at fault in a list of actions, where the caller knows the list.
    std::optional<djprobe_action> action{};
};

/// The reason in an answer of the module, or of the analysis.
AbiReason reason_of(const auto& answer) {
    return {static_cast<std::uint32_t>(answer.reason), {answer.detail[0], answer.detail[1]}};
}

/// "branch-into-region"; "reason-200" for one that this loader does not know.
std::string reason_name(std::uint32_t number);

/// The sentence with its addresses as names: "a branch lands inside the 5 bytes
/// (vfs_read.cold+0x12 -> vfs_read+0x4b)".
std::string describe_reason(const AbiReason& reason, Symbolizer& symbolizer);

/// The error for a refused DJPROBE_IOC_ATTACH: what, where, and what to do. Without a program, for
/// a refused DJPROBE_IOC_EXPLAIN.
Error refusal(const SiteSpec& site, std::string_view program, const AbiReason& reason, int error,
              Symbolizer& symbolizer);
/// Throws refusal() where the kernel has no symbol of that name, as far as it shows any.
void check_symbol(const SiteSpec& site, Symbolizer& symbolizer);

}  // namespace djprobe::loader
