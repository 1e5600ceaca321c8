// SPDX-License-Identifier: GPL-2.0
// The ring buffers of a loaded object, for a caller that takes its events one by one.
#pragma once

#include <bpf/libbpf.h>

#include <string>
#include <vector>

#include "base/output.h"
#include "base/unique_fd.h"
#include "decode/frame.h"
#include "events/reader.h"
#include "events/ring.h"
#include "library/probeload.h"

namespace djprobe::loader {

class Rings {
  public:
    /// `json`: prints the records of all; none: by the object's types. The names outlive this.
    /// Throws Error, std::system_error.
    Rings(const bpf_object* object, FrameNames& names, const PrintRecord& json);

    /// Readable while there are events. Throws Error(kUsage) where the object has no ring buffer.
    [[nodiscard]] int fd() const;
    /// See probeload_poll().
    int read(int timeout_ms, probeload_event_fn function, void* context);
    /// See probeload_json().
    const char* json(const probeload_event& event);

  private:
    struct Ring {
        std::string name;
        RingMapping mapping;
        PrintRecord print;
    };

    int consume(probeload_event_fn function, void* context);

    std::vector<Ring> rings_;
    UniqueFd poll_;
    Buffer line_;
};

}  // namespace djprobe::loader
