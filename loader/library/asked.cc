// SPDX-License-Identifier: GPL-2.0
#include "library/asked.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/error.h"

namespace djprobe::loader {
namespace {

// A number that would be passed over without a word is a mistake of the caller's.
std::optional<std::uint32_t> number_of(const probeload_question& question, unsigned int flag,
                                       const char* name, const char* flag_name,
                                       std::uint32_t number) {
    if ((question.flags & flag) != 0) return number;
    if (number != 0)
        fail(ExitCode::kUsage, "{} {}: set the flag PROBELOAD_ONLY_{} for it", name, number,
             flag_name);
    return std::nullopt;
}

}  // namespace

// A later version's struct is longer; what it has more must not be asked for.
probeload_question known_part(const probeload_question& question, std::size_t size) {
    if (size < sizeof(void*) || size > 4096)
        fail(ExitCode::kUsage, "size {} is not that of a struct probeload_question", size);
    probeload_question known{};
    std::memcpy(&known, &question, std::min(size, sizeof known));
    if (size <= sizeof known) return known;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&question);
    const std::span more(bytes + sizeof known, size - sizeof known);
    if (std::ranges::any_of(more, [](std::byte one) { return one != std::byte{0}; }))
        fail(ExitCode::kUsage, "the question has parts that this version of libprobeload lacks");
    return known;
}

bool is_given(const char* text) {
    return text && *text != '\0';
}

void check_flags(const probeload_question& question, unsigned int known) {
    if ((question.flags & ~known) == 0) return;
    constexpr unsigned int kAll = PROBELOAD_INLINED | PROBELOAD_KERNEL_STACK |
                                  PROBELOAD_USER_STACK | PROBELOAD_ONCE | kTaskFlags;
    if ((question.flags & ~kAll) != 0)
        fail(ExitCode::kUsage, "flags {:#x} are not all known", question.flags);
    fail(ExitCode::kUsage, "flags {:#x}: {:#x} is not for this", question.flags,
         question.flags & ~known);
}

TaskFilters task_filters(const probeload_question& question) {
    TaskFilters filters;
    filters.pid = number_of(question, PROBELOAD_ONLY_PID, "pid", "PID", question.pid);
    filters.tid = number_of(question, PROBELOAD_ONLY_TID, "tid", "TID", question.tid);
    filters.uid = number_of(question, PROBELOAD_ONLY_UID, "uid", "UID", question.uid);
    filters.cpu = number_of(question, PROBELOAD_ONLY_CPU, "cpu", "CPU", question.cpu);
    if (is_given(question.comm)) filters.comm = question.comm;
    if (is_given(question.cgroup)) filters.cgroup = question.cgroup;
    return filters;
}

}  // namespace djprobe::loader
