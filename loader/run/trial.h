// SPDX-License-Identifier: GPL-2.0
// Would the kernel take what the tool asks for? Asked by doing it, and undoing it at once.
#pragma once

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"
#include "run/kernel_probe.h"
#include "run/placement.h"
#include "run/tool_task.h"

namespace djprobe::loader {

/// Ask for nobody who may not probe: probeload may, and lends nothing.

/// An event at a function that does not run while there is anything to count: a program that is
/// tried there sees nothing. Of the kind of the request's; none with errno.
UniqueFd open_stand_in(const EventRequest& request);
/// A kprobe of the kernel's at the place, which counts nothing. None with errno.
UniqueFd open_place_holder(const EventRequest& request);
/// The event as the tool's own call would get it, but that it counts nothing; or none with the
/// errno of the kernel's refusal. It has the rights of probeload: not for the tool.
UniqueFd open_as_asked(const EventRequest& request, const EventArguments& arguments,
                       const ToolTask& task);
/// 0, or the errno of the kernel's refusal of an event in the group of a `leader`. Pointers in the
/// attr are this process's.
int try_member(const perf_event_attr& attr, const EventArguments& arguments, const ToolTask& task,
               const UniqueFd& leader);
/// 0, or the errno of the kernel's refusal of a link on the event, with these attributes but for
/// the two descriptors. 0 where there is no event.
int try_link(std::vector<std::byte> attributes, const UniqueFd& event, const UniqueFd& program);
/// 0, or the errno of the kernel's refusal.
int try_multi(const LinkAttributes& link, const MultiRequest& request, const UniqueFd& program);

}  // namespace djprobe::loader
