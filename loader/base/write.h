// SPDX-License-Identifier: GPL-2.0
// write(2) for descriptors that others have set up.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace djprobe::loader {

/// Writes some of the bytes; waits where the descriptor is non-blocking and full. -1 with errno of
/// a failure, EINTR when a signal came first.
ssize_t write_once(int fd, std::string_view bytes) noexcept;
/// Writes some of the bytes; waits where the descriptor is non-blocking and full, whatever signals
/// come. -1 with errno of a failure.
ssize_t write_some(int fd, std::string_view bytes) noexcept;

}  // namespace djprobe::loader
