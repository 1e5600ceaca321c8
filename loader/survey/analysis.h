// SPDX-License-Identifier: GPL-2.0
// All texts of one kernel: its own and, while it runs, those of its modules.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "survey/text_map.h"

namespace djprobe::loader {

/// One text, analysed. Does not move: the map refers to the facts.
struct Analysis {
    Analysis(const KernelImage& image, TextFacts text_facts, std::vector<Range> focus = {})
        : facts(std::move(text_facts)), map(image, facts, std::move(focus)) {}
    Analysis(const Analysis&) = delete;
    Analysis& operator=(const Analysis&) = delete;

    TextFacts facts;
    TextMap map;
};

/// The kernel's own text, and behind it the text of each of its modules, which are added to the
/// image. Leaves out the modules that cannot be probed (ours, and those that go), and the kernel
/// itself where only functions of modules are `wanted`.
std::list<Analysis> analyse(KernelImage& image, const std::optional<std::string>& wanted);

/// Only the code that matters to the sites within `focus`, in the text that holds these: `module`
/// is "" for the kernel itself. Empty when there is no such module.
std::list<Analysis> analyse_near(KernelImage& image, std::string_view module,
                                 std::vector<Range> focus);

}  // namespace djprobe::loader
