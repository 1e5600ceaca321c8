// SPDX-License-Identifier: GPL-2.0
// A TextPort that writes down every step, for the protocol checker.
#pragma once

#include <vector>

#include "arch/x86/detour/patch.h"
#include "support/code.h"

namespace djprobe::test {

/// One thing that happened to the text or to those who run it.
struct Step {
    enum class Kind {
        Write,         ///< `bytes` at `address`
        Sync,          ///< every CPU sees what was written before
        ResumeBehind,  ///< from now on int3 hits of the site at `address` resume behind the region
        ResumeFirst,   ///< ... behind the first instruction
        Quiescence,    ///< every task left the regions that it stood in
    };
    Kind kind;
    u64 address = 0;
    Bytes bytes;
};

class JournalPort {
  public:
    explicit JournalPort(u64 address, Bytes text) : address_(address), text_(std::move(text)) {}

    // TextPort.
    void write(u64 address, Span<const u8> bytes) {
        steps_.push_back({Step::Kind::Write, address, {bytes.begin(), bytes.end()}});
        for (size_t i = 0; i < bytes.size(); ++i)
            text_.at(address - address_ + i) = bytes[i];
    }
    void sync_cores() { steps_.push_back({Step::Kind::Sync, 0, {}}); }
    bool matches(u64 address, Span<const u8> bytes) const {
        for (size_t i = 0; i < bytes.size(); ++i)
            if (text_.at(address - address_ + i) != bytes[i]) return false;
        return true;
    }

    // What the protocol's caller does.
    void resume_behind(u64 site) { steps_.push_back({Step::Kind::ResumeBehind, site, {}}); }
    void resume_first(u64 site) { steps_.push_back({Step::Kind::ResumeFirst, site, {}}); }
    void quiescence() { steps_.push_back({Step::Kind::Quiescence, 0, {}}); }

    /// A write that does not come from the protocol.
    void foreign_write(u64 address, u8 byte) { text_.at(address - address_) = byte; }

    const std::vector<Step>& steps() const { return steps_; }
    const Bytes& text() const { return text_; }
    size_t count(Step::Kind kind) const {
        size_t count = 0;
        for (const Step& step : steps_)
            count += step.kind == kind;
        return count;
    }

  private:
    u64 address_;
    Bytes text_;
    std::vector<Step> steps_;
};

static_assert(x86::TextPort<JournalPort>);

}  // namespace djprobe::test
