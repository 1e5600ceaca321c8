// SPDX-License-Identifier: GPL-2.0
// Code out of files.
#pragma once

#include "support/code.h"

namespace djprobe::test {

/// The contents of a file's executable sections. Throws std::runtime_error.
std::vector<Bytes> text_of(const char* path);

}  // namespace djprobe::test
