// SPDX-License-Identifier: GPL-2.0
// Which bytes of the text are a site's now: what the kernel's own kprobes are told (djk_patch).
#pragma once

#include "../border/text_port.h"
#include "site.h"

namespace djprobe::kmod {

/// Before the first byte is written. Nothing is the site's yet.
void show_patch(KernelText& text, Site& site);
/// After its state, its anchor or its springboard has changed, before the text lock is given back.
void update_patch(KernelText& text, Site& site);
/// The first instruction and the region are what they were, or are about to be freed with their
/// module. The springboard's bytes stay: hide_board() is for them.
void hide_patch(KernelText& text, Site& site);
void hide_board(KernelText& text, Site& site);

}  // namespace djprobe::kmod
