// SPDX-License-Identifier: GPL-2.0
// Where probeload keeps what it need not make twice.
#pragma once

#include <filesystem>
#include <optional>

namespace djprobe::loader {

/// $XDG_CACHE_HOME/djprobe, or ~/.cache/djprobe. None where it is not ours alone, or cannot be
/// made: what is in it runs in the kernel.
std::optional<std::filesystem::path> cache_folder();

}  // namespace djprobe::loader
