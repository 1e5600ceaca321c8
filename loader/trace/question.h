// SPDX-License-Identifier: GPL-2.0
// What the user asks of `probeload trace`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/site_spec.h"

namespace djprobe::loader {

/// Which tasks and CPUs.
struct TaskFilters {
    std::optional<std::uint32_t> pid, tid, uid, cpu;
    std::optional<std::string> comm;
};

/// What is kept of all calls, in the kernel.
struct Aggregation {
    enum class Kind { kCount, kSum, kAverage, kLeast, kMost, kHistogram };

    Kind kind = Kind::kCount;
    std::string value{};  ///< an expression; of a count none
    std::string keys{};   ///< one result for each of their values; "": one for all
};

struct Question {
    SiteSpec site;
    bool at_returns = false;
    std::optional<std::string> items;  ///< none: all arguments, or the function's result
    std::optional<std::string> condition;
    TaskFilters filters;
    std::vector<std::string> columns = {"time", "cpu", "pid", "comm"};
    bool kernel_stack = false;
    bool user_stack = false;
    std::optional<Aggregation> aggregation;  ///< in place of events

    /// "vfs_read", "ext4:ext4_readdir"
    [[nodiscard]] const std::string& function() const { return site.symbol; }
    /// "vfs_read+0x2b": no entry, and so without the function's arguments.
    [[nodiscard]] bool is_within() const { return site.offset != 0; }
    /// "vfs_*": only for an aggregation.
    [[nodiscard]] bool is_glob() const { return site.is_glob(); }
    /// "" for the kernel itself.
    [[nodiscard]] std::string module() const;
    /// Without its module.
    [[nodiscard]] std::string bare_function() const;
};

/// Parses "FUNC", "FUNC+OFF" or "FUNC:return" into the question. Throws Error(kUsage).
void parse_place(std::string_view text, Question& question);
/// "time,pid". Throws Error(kUsage).
std::vector<std::string> parse_columns(const std::string& text);

}  // namespace djprobe::loader
