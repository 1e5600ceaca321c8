// SPDX-License-Identifier: GPL-2.0
#include "fragile_text.h"

#include "../linux_names/fragile.h"
#include "kernel_functions.h"

namespace djprobe::kmod {
Refusal Fragile::compute() {
    const KernelFunctions kernel;
    const Box<x86::FragileText> text = Box<x86::FragileText>::create();
    if (!kernel.is_ready() || !text) return Refusal{Reason::NO_MEMORY};
    const Refusal refusal = x86::find_fragile(kernel, Span{djprobe_fragile}, *text);
    if (text->lacking)
        djk_lacks(text->lacking->name, text->lacking->of);
    else if (text->unmarked)
        djk_lacks_call(text->unmarked->name, text->unmarked->mark);
    else if (refusal)
        djk_warn("the code of a CPU that comes or goes is not known from here on",
                 refusal.detail[0]);
    if (refusal) return refusal;
    ranges_ = Array<djk_extent>(text->count);
    if (!ranges_) return Refusal{Reason::NO_MEMORY};
    for (size_t i = 0; i < text->count; ++i)
        ranges_[i] = {text->ranges[i].begin, text->ranges[i].end};
    djk_set_fragile(ranges_.data(), ranges_.size());
    return {};
}

}  // namespace djprobe::kmod
