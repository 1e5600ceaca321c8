// SPDX-License-Identifier: GPL-2.0
// The outermost part of the guest's programs.
#pragma once

#include <cstdio>
#include <exception>

namespace djprobe::vm {

/// What run() returns; 2 with the exception's words where it throws.
inline int guarded(const char* program, int (*run)(int, char**), int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program, error.what());
        return 2;
    }
}

}  // namespace djprobe::vm
