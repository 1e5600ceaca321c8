// SPDX-License-Identifier: GPL-2.0
// The BPF program that answers a question, in C.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/field.h"
#include "trace/question.h"
#include "trace/types.h"

namespace djprobe::loader {

/// A variable of the program: a process ID in the first PID namespace, or 0.
inline constexpr std::string_view kOwnProcess = "own_pid";
/// The group of a filter, and how many stand above it.
inline constexpr std::string_view kCgroup = "cgroup_id", kCgroupLevel = "cgroup_level";

struct TraceProgram {
    std::string source;
    std::set<TypeId> types;        ///< of the kernel, that it names
    std::vector<Field> fields;     ///< of its event, or of the key of its results, in this order
    bool value_is_signed = false;  ///< of its results
    bool is_session = false;       ///< a program at the entry and one at the returns
    bool leaves_out_own = false;   ///< the process kOwnProcess
    std::string unknown{};         ///< why the function has no types; "" where it has
    std::vector<std::string> left_out{};  ///< sites without a program, and why
    bool keeps_entries = false;     ///< programs at entries keep registers for those at the sites
    std::vector<SiteSpec> sites{};  ///< a program for each; none: one for the question's place
};

/// What a program that filters by a control group has in its variables: "cgroup_id=7". Throws
/// Error(kUsage) where there is no such group.
std::vector<std::string> cgroup_variables(const std::string& folder);

/// For `probeload attach`: "--session FILE".
std::string attach_words(const Question& question, bool is_session, const std::string& file);

/// Throws Error: kUsage with a caret, kNoSuchSite.
TraceProgram write_program(const Question& question, Types& types);

}  // namespace djprobe::loader
