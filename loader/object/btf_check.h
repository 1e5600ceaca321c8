// SPDX-License-Identifier: GPL-2.0
// Does an object's BTF hold together? libbpf follows its references without a check.
#pragma once

#include <bpf/btf.h>

namespace djprobe::loader {

/// Each type refers to types that are there and fit, each name is one, each chain of typedefs and
/// qualifiers has an end. Throws Error(kBadFile).
void check_btf(const btf& btf);

}  // namespace djprobe::loader
