// SPDX-License-Identifier: GPL-2.0
#include "transition.h"

namespace djprobe::kmod {
namespace {

/// Nobody can be on the springboard any more.
void restore_board(const Site& site) {
    if (!site.board_written) return;
    KernelText text;
    if (check_text(text, site.board, TextForm::Jump)) {
        djk_warn("somebody else has patched these dead bytes, they stay as they are",
                 site.board.address);
        return;
    }
    x86::restore_board(text, site.board);
    text.sync_cores();
}

}  // namespace

void Garbage::add(Site* site) {
    site->next = sites_;
    sites_ = site;
}

void Garbage::add(djp_probe* probe) {
    probe->next = probes_;
    probes_ = probe;
}

Garbage Garbage::take() {
    const Garbage taken = *this;
    *this = Garbage{};
    return taken;
}

void Garbage::free() {
    while (djp_probe* probe = probes_) {
        probes_ = probe->next;
        djk_probe_destroy(probe->handler);
        Box<djp_probe>::adopt(probe).reset();
    }
    while (Site* site = sites_) {
        sites_ = site->next;
        restore_board(*site);
        Box<Site>::adopt(site).reset();
    }
}

}  // namespace djprobe::kmod
