// SPDX-License-Identifier: GPL-2.0
// Tells the kernel's own kprobes which bytes of the text a site changes (djk_patch). All under the
// text lock.
#pragma once

#include "../border/text_port.h"
#include "site.h"

namespace djprobe::kmod {

/// Call this before the site's first byte is written. The site changes no byte yet.
void show_patch(KernelText& text, Site& site);
/// Call this after the site's state, anchor or springboard has changed, under the same text lock.
void update_patch(KernelText& text, Site& site);
/// Call this when the first instruction and the region hold their original bytes again, or when the
/// kernel is about to free them with their module. hide_board() does the same for the springboard.
void hide_patch(KernelText& text, Site& site);
void hide_board(KernelText& text, Site& site);

/// The same bytes, while the site rests: its jump is in the text.
void show_patch(KernelText& text, RestingSite& resting);
void hide_patch(KernelText& text, RestingSite& resting);

}  // namespace djprobe::kmod
