// SPDX-License-Identifier: GPL-2.0
// How a session shows what its program sends, where that is not as `probeload attach` does.
#pragma once

#include <bpf/btf.h>

#include <functional>

#include "events/reader.h"

namespace djprobe::loader {

struct Views {
    /// Makes the printer of all records, from the object's types.
    std::function<PrintRecord(const btf& types)> records{};
};

}  // namespace djprobe::loader
