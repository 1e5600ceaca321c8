// SPDX-License-Identifier: GPL-2.0
// What a kernel's own tables say about its text: who owns which bytes, where control may land.
#pragma once

#include <vector>

#include "../../arch/x86/analysis/snapshot.h"
#include "survey/image.h"

namespace djprobe::loader {

struct TextFacts {
    std::string module;                   ///< whose text it is, "" for the kernel itself
    Range text;                           ///< core text, [_stext, _etext), or the module's
    std::vector<x86::Reserved> reserved;  ///< sorted by begin; bytes owned by others
    std::vector<Range> blacklist;         ///< sorted; noinstr, NOKPROBE and entry code
    std::vector<Range> idle;
    std::vector<Range> fragile;          ///< sorted; kmod/linux_names/fragile.h
    std::vector<x86::Landing> landings;  ///< fixups, labels and stored pointers; unsorted
    x86::IndirectThunks indirect_thunks;
    bool no_jump_tables = false;
    bool ibt = false;
};

/// Read them all from the image. Throws Error when one that must be there is not.
TextFacts read_facts(const KernelImage& image);

/// The same of a module, which has been added to the image; `kernel` are those of its kernel.
TextFacts read_module_facts(const KernelImage& image, const LoadedModule& module,
                            const TextFacts& kernel);

}  // namespace djprobe::loader
