// SPDX-License-Identifier: GPL-2.0
// What a tool asks for, and how the kernel itself places it: for what djprobe does not take.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {

/// A kprobe or kretprobe of perf_event_open().
struct EventRequest {
    perf_event_attr attr;
    SiteSpec site;
    bool at_returns;
};

/// The request's attr for a call of this process's; as long as the request lives.
perf_event_attr kprobe_attr_here(const EventRequest& request);

/// One function of kprobe.multi.
struct MultiTarget {
    SiteSpec site;
    std::uint64_t cookie = 0;
};

/// A link of kprobe.multi.
struct MultiRequest {
    bool at_returns = false;
    bool has_cookies = false;  ///< the kernel sorts the functions of a link that has some
    std::vector<MultiTarget> targets;
};

/// The request's functions as the kernel reads them; as long as the request lives.
class MultiArrays {
  public:
    explicit MultiArrays(const MultiRequest& request);

    [[nodiscard]] std::uint64_t symbols() const { return at(symbols_); }
    [[nodiscard]] std::uint64_t addresses() const { return at(addresses_); }
    [[nodiscard]] std::uint64_t cookies() const { return at(cookies_); }

  private:
    template <class Element>
    static std::uint64_t at(const std::vector<Element>& elements) {
        return reinterpret_cast<std::uintptr_t>(elements.data());
    }
    std::vector<const char*> symbols_;
    std::vector<std::uint64_t> addresses_, cookies_;
};

/// Each is none, with errno, where the kernel refuses.
UniqueFd open_kernel_event(const EventRequest& request);
bool set_kernel_program(const UniqueFd& event, const UniqueFd& program);
UniqueFd link_kernel_event(const UniqueFd& event, const UniqueFd& program, std::uint64_t cookie);
UniqueFd link_kernel_multi(const MultiRequest& request, const UniqueFd& program);

/// The kernel's own probes for those of a placement.
struct KernelProbe {
    UniqueFd file;   ///< which they end with: an event with its program, or a link
    UniqueFd event;  ///< of a link on one event: that one, which the link keeps, too
};

/// 0: the fd is no program's.
std::uint32_t program_id(const UniqueFd& program);
/// 0: the fd is no link's.
std::uint32_t link_id(const UniqueFd& link);
/// True also where only CAP_SYS_ADMIN may know.
bool link_lives(std::uint32_t link_id);

}  // namespace djprobe::loader
