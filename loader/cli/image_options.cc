// SPDX-License-Identifier: GPL-2.0
#include "cli/image_options.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/checks.h"
#include "kernel/glob.h"

namespace djprobe::loader {

KernelImage ImageOptions::open() const {
    if (is_live() && !symbols.empty())
        fail(ExitCode::kUsage, "--symbols belongs to an image: give it with --vmlinux");
    return is_live() ? KernelImage::from_running_kernel(Kallsyms::read())
                     : KernelImage::from_file(vmlinux, symbols);
}

void ImageOptions::check_module(const std::string& name) const {
    if (!is_live() && names_module(name))
        fail(ExitCode::kNoSuchSite, "'{}': an image has no modules, only the running kernel has",
             name);
}

void add_image_options(CLI::App& command, ImageOptions& options) {
    command
        .add_option("--vmlinux", options.vmlinux,
                    "An uncompressed kernel image instead of the running kernel")
        ->type_name("FILE")
        ->check(not_empty);
    command
        .add_option("--symbols", options.symbols,
                    "The image's /proc/kallsyms, if it has no symbols of its own")
        ->type_name("FILE")
        ->check(not_empty);
}

}  // namespace djprobe::loader
