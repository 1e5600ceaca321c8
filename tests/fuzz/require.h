// SPDX-License-Identifier: GPL-2.0
// A promise that any input must leave true.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace djprobe::test {

/// Says what was promised and aborts, which libFuzzer takes for a find.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

}  // namespace djprobe::test
