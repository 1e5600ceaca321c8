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
    Analysis(const KernelImage& image, TextFacts text_facts, std::vector<Range> focus = {},
             const StopSignals* stop = nullptr)
        : facts(std::move(text_facts)), map(image, facts, std::move(focus), stop) {}
    Analysis(const Analysis&) = delete;
    Analysis& operator=(const Analysis&) = delete;

    TextFacts facts;
    TextMap map;
};

/// The kernel's own text, and behind it the text of each of its modules, which are added to the
/// image. Leaves out the modules that cannot be probed (ours, and those that go). With `wanted`, a
/// pattern: only texts with functions of such a name, and of these the code that matters to them.
std::list<Analysis> analyse(KernelImage& image, const std::optional<std::string>& wanted);

/// Only the code that matters to the sites within `focus`, in the text that holds these: `module`
/// is "" for the kernel itself. Empty when there is no such module. With `stop` it throws Error
/// once a stop is requested.
std::list<Analysis> analyse_near(KernelImage& image, std::string_view module,
                                 std::vector<Range> focus, const StopSignals* stop = nullptr);

/// Where the functions lie, and what may be parts of them elsewhere (NAME.cold).
std::vector<Range> ranges_of(const Kallsyms& kallsyms, const std::vector<Symbol>& functions);

}  // namespace djprobe::loader
