// SPDX-License-Identifier: GPL-2.0
#include "readers.h"

namespace djprobe::kmod {

Readers::~Readers() {
    while (Reader* const reader = all_.first())
        remove(*reader);
}

Reads Readers::kept_at(u64 address) const {
    Reads kept;
    for (const Reader* reader = all_.first(); reader; reader = reader->next)
        if (reader->home.contains(address)) kept |= reader->reads;
    return kept;
}

Readers::Reader* Readers::find(u64 site) const {
    Reader* reader = all_.first();
    while (reader && reader->site != site)
        reader = reader->next;
    return reader;
}

Readers::Reader* Readers::add(u64 site, Range home) {
    Reader* const reader = Box<Reader>::create().release();
    if (!reader) return nullptr;
    reader->site = site;
    reader->home = home;
    all_.add(*reader);
    return reader;
}

void Readers::remove(Reader& reader) {
    all_.remove(reader);
    Box<Reader>::adopt(&reader).reset();
}

}  // namespace djprobe::kmod
