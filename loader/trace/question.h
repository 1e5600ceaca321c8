// SPDX-License-Identifier: GPL-2.0
// What the user asks of `probeload trace`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/site_spec.h"
#include "trace/linear.h"
#include "trace/trace_site.h"

namespace djprobe::loader {

/// Which tasks and CPUs.
struct TaskFilters {
    std::optional<std::uint32_t> pid, tid, uid, cpu;
    std::optional<std::string> comm;
    std::optional<std::string> cgroup;  ///< a folder: that group and those below it

    [[nodiscard]] bool any() const { return pid || tid || uid || cpu || comm || cgroup; }
};

/// What is kept of all calls, in the kernel.
struct Aggregation {
    enum class Kind { kCount, kSum, kAverage, kLeast, kMost, kHistogram };

    Kind kind = Kind::kCount;
    std::string value{};             ///< an expression; of a count none
    std::string keys{};              ///< one result for each of their values; "": one for all
    std::optional<Linear> linear{};  ///< of a histogram: by equal steps
};

/// A line of the source, as the user names it.
struct LinePlace {
    std::string text;      ///< "fs/read_write.c:470", "vfs_read:+12"
    std::string module;    ///< "" for the kernel itself
    std::string function;  ///< the line is counted from its first one; "": of the file
    std::string file;
    unsigned line = 0;
};

struct Question {
    SiteSpec site;
    std::optional<LinePlace> line;  ///< `sites` are there
    /// What debug information has found there; empty: nothing was looked for.
    std::vector<TraceSite> sites;
    bool at_returns = false;
    bool inlined = false;              ///< where the function was inlined
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
    [[nodiscard]] bool is_within() const {
        return site.offset != 0 || line || inlined || !sites.empty();
    }
    /// As the user has written it.
    [[nodiscard]] std::string place() const;
    /// "vfs_*": only for an aggregation.
    [[nodiscard]] bool is_glob() const { return site.is_glob(); }
    /// "" for the kernel itself.
    [[nodiscard]] std::string module() const;
    /// Without its module.
    [[nodiscard]] std::string bare_function() const;
};

/// Parses "FUNC", "FUNC+OFF", "FUNC:return", "FILE:LINE" or "FUNC:+LINE" into the question. Throws
/// Error(kUsage).
void parse_place(std::string_view text, Question& question);
/// "time,pid". Throws Error(kUsage).
std::vector<std::string> parse_columns(const std::string& text);

}  // namespace djprobe::loader
