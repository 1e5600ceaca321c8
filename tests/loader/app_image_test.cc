// SPDX-License-Identifier: GPL-2.0
// What is wrong with an image of a kernel, or with its symbols, is told.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "run_app.h"
#include "survey/image.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

TEST(App, function_that_an_image_has_not) {
    const AppResult result =
        run_app({"explain", "frobnicate_widget", "--vmlinux", DJPROBE_TINY_KERNEL});
    EXPECT_EQ(result.status, 9);
    EXPECT_EQ(
        result.err,
        "probeload: frobnicate_widget: no such function among the symbols of " DJPROBE_TINY_KERNEL
        " (inlined everywhere, or of a module?)\n");
}

TEST(App, image_that_is_a_directory) {
    const AppResult result = run_app({"explain", "loops", "--vmlinux", "/"});
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.err, "probeload: /: not a regular file\n");
}

TEST(App, modules_are_no_part_of_an_image) {
    const AppResult result = run_app({"explain", "xfs:f", "--vmlinux", DJPROBE_TINY_KERNEL});
    EXPECT_EQ(result.status, 9);
    EXPECT_EQ(result.err,
              "probeload: 'xfs:f': an image has no modules, only the running kernel has\n");
}

TEST(App, symbols_that_cannot_be_read_are_a_bad_file) {
    for (const auto& [path, why] :
         {std::pair{"/nonexistent", "No such file or directory"}, {"/", "Is a directory"}}) {
        const AppResult result =
            run_app({"explain", "loops", "--vmlinux", DJPROBE_TINY_KERNEL, "--symbols", path});
        EXPECT_EQ(result.status, 3);
        EXPECT_EQ(result.err, fmt::format("probeload: {}: {}\n", path, why));
    }
}

TEST(App, symbols_of_another_kernel_are_told) {
    const Files files;
    const std::string path = files.write("kallsyms",
                                         "ffffffff81000000 T _stext\n"
                                         "ffffffff81000010 R linux_banner\n");
    const AppResult result =
        run_app({"explain", "_stext", "--vmlinux", DJPROBE_TINY_KERNEL, "--symbols", path.c_str()});
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.err, "probeload: " + path +
                              ": not of the kernel image " DJPROBE_TINY_KERNEL
                              ": give the /proc/kallsyms of the same release\n");
}

TEST(App, symbols_that_lack_what_every_kernel_has_are_told) {
    const auto tiny = KernelImage::from_file(DJPROBE_TINY_KERNEL, "");
    const std::string text = "ffffffff81000000 T _stext\n";
    const std::string banner = fmt::format("{:x} R linux_banner\n", tiny.require("linux_banner"));
    const Files files;
    for (const auto& [symbols, missing] :
         {std::pair{banner, "_stext"}, {text, "linux_banner"}, {text + banner, "_etext"}}) {
        const std::string path = files.write("kallsyms", symbols);
        const AppResult result = run_app(
            {"explain", "_stext", "--vmlinux", DJPROBE_TINY_KERNEL, "--symbols", path.c_str()});
        EXPECT_EQ(result.status, 3);
        EXPECT_EQ(result.err, fmt::format("probeload: {}: no symbol {}: give the /proc/kallsyms of "
                                          "the same release with --symbols\n",
                                          path, missing));
    }
}

}  // namespace
}  // namespace djprobe::loader
