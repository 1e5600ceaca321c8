// SPDX-License-Identifier: GPL-2.0
#include "survey/analysis.h"

#include <utility>

#include "kernel/glob.h"

namespace djprobe::loader {

std::list<Analysis> analyse(KernelImage& image, const std::optional<std::string>& wanted) {
    std::list<Analysis> texts;
    const TextFacts facts = read_facts(image);
    if (!wanted || !names_module(*wanted)) texts.emplace_back(image, facts);
    if (!image.is_live()) return texts;
    for (LoadedModule& module : loaded_modules())
        if (image.add(module)) texts.emplace_back(image, read_module_facts(image, module, facts));
    return texts;
}

std::list<Analysis> analyse_near(KernelImage& image, std::string_view module,
                                 std::vector<Range> focus) {
    std::list<Analysis> texts;
    TextFacts facts = read_facts(image);
    if (module.empty()) {
        texts.emplace_back(image, std::move(facts), std::move(focus));
        return texts;
    }
    for (LoadedModule& loaded : loaded_modules())
        if (loaded.name == module && image.add(loaded))
            texts.emplace_back(image, read_module_facts(image, loaded, facts), focus);
    return texts;
}

}  // namespace djprobe::loader
