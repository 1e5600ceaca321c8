// SPDX-License-Identifier: GPL-2.0
// All texts of one kernel: its own and, while it runs, those of its modules.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "survey/text_map.h"

namespace djprobe::loader {

/// One text, analysed. Does not move: the map refers to the facts.
struct Analysis {
    Analysis(const KernelImage& image, TextFacts text_facts)
        : facts(std::move(text_facts)), map(image, facts) {}
    Analysis(const Analysis&) = delete;
    Analysis& operator=(const Analysis&) = delete;

    TextFacts facts;
    TextMap map;
};

/// The kernel's own text, and behind it that of each of its modules, which are added to the image.
/// Modules that cannot be probed, as they leave or are ours, are left out, and so is the kernel
/// itself where only functions of modules are `wanted`.
std::list<Analysis> analyse(KernelImage& image, const std::optional<std::string>& wanted);

/// Only the text in which a function lies: `module` is "" for the kernel itself. Empty when there
/// is no such module.
std::list<Analysis> analyse_one(KernelImage& image, std::string_view module);

}  // namespace djprobe::loader
