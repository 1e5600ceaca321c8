// SPDX-License-Identifier: GPL-2.0
// Which kernel a command is about: the running one, or an image with its symbols.
#pragma once

#include <string>

#include "survey/image.h"

namespace CLI {
class App;
}

namespace djprobe::loader {

struct ImageOptions {
    std::string vmlinux;  ///< empty: the running kernel
    std::string symbols;

    [[nodiscard]] bool is_live() const noexcept { return vmlinux.empty(); }
    /// For messages.
    [[nodiscard]] std::string name() const { return is_live() ? "the running kernel" : vmlinux; }
    /// Throws Error(kNoSuchSite) for a name or a pattern of a module's functions in an image.
    void check_module(const std::string& name) const;
    /// Throws Error(kUsage) for symbols without an image, else as KernelImage does.
    [[nodiscard]] KernelImage open() const;
};

/// --vmlinux and --symbols.
void add_image_options(CLI::App& command, ImageOptions& options);

}  // namespace djprobe::loader
