// SPDX-License-Identifier: GPL-2.0
#include "kernel/symbolizer.h"

#include <system_error>

namespace djprobe::loader {

const Kallsyms& Symbolizer::kallsyms() {
    if (!kallsyms_) {
        try {
            kallsyms_ = Kallsyms::read();
        } catch (const std::system_error&) {
            kallsyms_ = Kallsyms::parse("");
        }
    }
    return *kallsyms_;
}

}  // namespace djprobe::loader
