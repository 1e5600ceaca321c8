// SPDX-License-Identifier: GPL-2.0
// What takes seconds to find in debug information is kept in the user's cache, by build ID.
#pragma once

#include <functional>
#include <string>

#include "debuginfo/dwarf_file.h"

namespace djprobe::loader {

struct KeptKind {
    const char* extension;  ///< of the file in the cache: ".inlined"
    std::string head;       ///< its first line; a file with another one is none of ours
};

/// The text that is kept of the file, else the one that is made, which is kept then. Both begin
/// with the head, and end with a line's end.
std::string kept_text(const DwarfFile& debug, const KeptKind& kind,
                      const std::function<std::string()>& make);

}  // namespace djprobe::loader
