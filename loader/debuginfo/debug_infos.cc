// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/debug_infos.h"

#include "debuginfo/debug_file.h"

namespace djprobe::loader {

const SourceLines& DebugInfos::of(const std::string& module) {
    const auto known = opened_.find(module);
    if (known != opened_.end()) return known->second;
    const std::string path = find_debug_file(module, folder_);
    SourceLines lines =
        module.empty() ? SourceLines::of_kernel(path, text_) : SourceLines::of_module(path, module);
    return opened_.emplace(module, std::move(lines)).first->second;
}

}  // namespace djprobe::loader
