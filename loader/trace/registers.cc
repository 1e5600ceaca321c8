// SPDX-License-Identifier: GPL-2.0
#include "trace/registers.h"

#include <fmt/format.h>

#include "kernel/pt_regs.h"

namespace djprobe::loader {

std::vector<Name> register_names(const Types& types) {
    std::vector<Name> names;
    for (const PtReg& one : kPtRegs) {
        const std::string text = fmt::format("ctx->{}", one.member);
        names.push_back({std::string(one.whole), text, types.number(true, false)});
        names.push_back({std::string(one.half), "(__u32)" + text, types.number(false, false)});
    }
    return names;
}

}  // namespace djprobe::loader
