// SPDX-License-Identifier: GPL-2.0
// What was counted, the most first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "session/report.h"

namespace djprobe::loader {

/// One counter with a hit.
struct Counted {
    ProbeState probe;
    bool by_name;         ///< the entry of one of many functions: its name says where
    std::uint64_t fresh;  ///< what came since the last look
};

/// What the counters say, look after look.
class Counts {
  public:
    /// Takes all counters from the reports of their probes.
    void look(const std::vector<AttachmentReport>& reports);
    /// The sum of all.
    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
    /// Those with the highest counts, at most so many, none without a hit.
    [[nodiscard]] std::vector<Counted> top(std::size_t most, Symbolizer& symbolizer) const;

  private:
    std::vector<Counted> all_;
    std::map<std::uint64_t, std::uint64_t> last_;  ///< by the counter's name, which is its cookie
    std::uint64_t total_ = 0;
};

/// "tcp_sendmsg", "ext4:ext4_readdir", "vfs_read+0x2b".
std::string counted_name(const Counted& one);

/// A head and a line for each. `seconds`: since the last look, for the rates; 0: without them.
std::string count_table(const std::vector<Counted>& top, double seconds);
/// One line of NDJSON.
std::string count_json(const std::vector<Counted>& top, std::uint64_t total, double elapsed);

}  // namespace djprobe::loader
