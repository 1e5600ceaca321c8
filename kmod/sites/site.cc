// SPDX-License-Identifier: GPL-2.0
#include "site.h"

namespace djprobe::kmod {

x86::PatchSite Site::breakpoint() const {
    return x86::make_breakpoint_site(plan);
}

x86::PatchSite Site::jump() const {
    x86::PatchSite made;
    (void)x86::make_jump_site(plan, code.entry(), made);
    return made;
}

x86::PatchSite Site::board_to(u64 entry) const {
    x86::PatchSite made;
    (void)x86::make_board(plan, entry, made);
    return made;
}

}  // namespace djprobe::kmod
