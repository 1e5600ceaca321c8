// SPDX-License-Identifier: GPL-2.0
#include "readers.h"

namespace djprobe::kmod {

Readers::~Readers() {
    while (first_)
        remove(first_->site);
}

Reads Readers::kept_at(u64 address) const {
    Reads kept;
    for (const Reader* reader = first_; reader; reader = reader->next)
        if (reader->home.contains(address)) kept |= reader->reads;
    return kept;
}

Readers::Reader* Readers::find(u64 site) const {
    Reader* reader = first_;
    while (reader && reader->site != site)
        reader = reader->next;
    return reader;
}

Readers::Reader* Readers::add(u64 site, Range home) {
    Box<Reader> made = Box<Reader>::create();
    if (!made) return nullptr;
    made->site = site;
    made->home = home;
    made->next = first_;
    return first_ = made.release();
}

void Readers::remove(u64 site) {
    for (Reader** link = &first_; *link; link = &(*link)->next) {
        if ((*link)->site != site) continue;
        const Box<Reader> gone = Box<Reader>::adopt(*link);
        *link = gone->next;
        return;
    }
}

}  // namespace djprobe::kmod
