// SPDX-License-Identifier: GPL-2.0
// What a link tells of itself by BPF_OBJ_GET_INFO_BY_FD: as the running kernel would tell it.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "run/tool_task.h"

namespace djprobe::loader {

/// How much of struct bpf_link_info a kernel has, in bytes; 0: it has no such member.
struct LinkInfoSizes {
    std::size_t all = 0;    ///< the whole struct; 0: not known
    std::size_t multi = 0;  ///< its member kprobe_multi: since Linux 6.6, longer since 6.7 and 6.9
    std::size_t event = 0;  ///< its member perf_event.kprobe: the same

    bool operator==(const LinkInfoSizes&) const = default;
};
/// Throws Error(kBadFile) where the BTF is inconsistent.
LinkInfoSizes link_info_sizes(const btf& kernel);
/// Of the running kernel; nothing is known where it has no BTF.
LinkInfoSizes running_link_info_sizes();

/// A link of kprobe.multi, its functions in the kernel's order.
struct MultiFacts {
    std::uint32_t flags = 0;
    std::uint64_t missed = 0;
    std::vector<std::uint64_t> addresses;  ///< 0: not shown
    std::vector<std::uint64_t> cookies;    ///< as many
};
/// A link on a perf event.
struct EventFacts {
    bool at_returns = false;
    std::string function;  ///< "": it was named by its address
    std::uint32_t offset = 0;
    std::uint64_t address = 0;  ///< 0: not shown
    std::uint64_t missed = 0;
    std::uint64_t cookie = 0;
};
struct LinkFacts {
    std::uint32_t id = 0, program_id = 0;
    std::variant<MultiFacts, EventFacts> of_kind;
};

/// Answers a task that has `size` bytes at `address` for a struct bpf_link_info, which may ask for
/// more. `size` becomes that of the answer. 0, or the errno of the kernel's refusal.
int tell_link_info(const ToolTask& task, const LinkInfoSizes& sizes, std::uint64_t address,
                   std::uint32_t& size, const LinkFacts& facts);

}  // namespace djprobe::loader
