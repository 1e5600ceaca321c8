// SPDX-License-Identifier: GPL-2.0
// A whole kernel, where vm/setup has put one.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/temp_dir.h"
#include "survey/analysis.h"

namespace djprobe::loader {

class WholeKernel : public testing::Test {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(kKernel + "/vmlinux")) GTEST_SKIP() << "no " << kKernel;
    }
    /// Its vmlinux, with the symbols that it holds of itself.
    static KernelImage read_kernel() {
        const std::string vmlinux = kKernel + "/vmlinux";
        TempDir directory;  // ctest runs several of these tests at once
        const std::string symbols = directory.file("kallsyms");
        const std::string tool = DJPROBE_SYMBOL_TOOL;  // prints them
        EXPECT_EQ(std::system((tool + " " + vmlinux + " >" + symbols).c_str()), 0);
        return KernelImage::from_file(vmlinux, symbols);
    }

  private:
    inline static const std::string kKernel = DJPROBE_KERNEL;
};

}  // namespace djprobe::loader
