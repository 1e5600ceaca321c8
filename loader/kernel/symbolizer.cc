// SPDX-License-Identifier: GPL-2.0
#include "kernel/symbolizer.h"

#include <cerrno>
#include <system_error>

namespace djprobe::loader {

const Kallsyms& Symbolizer::kallsyms() {
    if (!kallsyms_) {
        try {
            kallsyms_ = Kallsyms::read();
        } catch (const std::system_error& error) {
            // A kernel may have none, or a task may not see it. Else the names are there.
            const int why = error.code().value();
            if (why != ENOENT && why != EACCES && why != EPERM) throw;
            kallsyms_ = Kallsyms::parse("");
        }
    }
    return *kallsyms_;
}

}  // namespace djprobe::loader
