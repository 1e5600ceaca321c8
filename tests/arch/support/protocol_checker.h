// SPDX-License-Identifier: GPL-2.0
// What every CPU might see and do after each step of a journal, and whether that is safe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "support/journal_port.h"

namespace djprobe::test {

/// Replays a journal for one site, byte by byte.
///
/// A CPU may fetch any value that a byte had since the last core sync, independently of its other
/// bytes. After every step:
///  - a CPU that arrives at the site finds int3, the whole original or the whole jump;
///  - a CPU that may stand at an inner instruction finds the original from there on. It may stand
///    there until a quiescence has passed since no task can get there any more: since all see int3
///    (or the jump) and hits resume behind the region;
///  - while the tail is not the original, int3 hits resume behind the region.
class ProtocolChecker {
  public:
    /// @param inner offsets of the region's instructions but the first
    ProtocolChecker(const x86::PatchSite& site, std::vector<size_t> inner);

    /// The first violation, "" if there is none. Ends with all CPUs in agreement, or tells.
    std::string check(const std::vector<Step>& steps);

  private:
    void apply(const Step& step);
    std::string violation() const;
    bool tail_may_be_other_than(const u8* form, size_t from) const;
    bool none_enters() const;

    const x86::PatchSite& site_;
    std::vector<size_t> inner_;
    std::vector<std::set<u8>> views_;  ///< per byte, what a CPU may fetch
    Bytes text_;
    bool resumes_behind_ = false;
    bool inner_empty_ = false;  ///< no task stands at an inner instruction
};

}  // namespace djprobe::test
