// SPDX-License-Identifier: GPL-2.0
// A session whose entry program returns 0 for each call sees no return at all: said once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ticker.h"
#include "base/unique_fd.h"
#include "object/object.h"
#include "session/attachment.h"
#include "session/event_loop.h"

namespace djprobe::loader {

/// The line for an entry program that has run `runs` times; "" as long as nothing is wrong.
/// `returns`: how often the program at the returns has run, or was missed.
std::string no_return_selected(const std::string& at_entry, const std::string& at_return,
                               std::uint64_t runs, std::uint64_t returns);

/// The module counts the calls whose return is seen, and the kernel the runs of a program only
/// while its statistics are on. They cost each BPF program of the system two reads of a clock a
/// run: they are on until a return is seen, or until the line is said.
class SessionWatch {
  public:
    /// `on`: there are sessions. Does nothing where the kernel refuses the statistics.
    explicit SessionWatch(bool on);
    /// A session's programs, and where they are attached. All must outlive end().
    void add(const Program& entry, const Program& program, const Attachment& attachment);
    /// For the event loop.
    [[nodiscard]] Watched watched();
    /// The last look, after the probes have gone from the text.
    void end();

  private:
    struct Session {
        int entry_fd;
        std::string at_entry, at_return;
        const Attachment* attachment;
    };

    void look();
    void stop();

    UniqueFd statistics_;
    Ticker ticker_;
    std::vector<Session> sessions_;
};

}  // namespace djprobe::loader
