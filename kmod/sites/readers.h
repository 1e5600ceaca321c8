// SPDX-License-Identifier: GPL-2.0
// The sites within functions whose handlers read registers.
#pragma once

#include "../border/memory.h"
#include "../border/walked_list.h"
#include "../code/reads.h"

namespace djprobe::kmod {

/// A detour may destroy a register that the kernel no longer needs, but not one that a handler
/// still reads further on in the same function, be it a site's or a kprobe's of the kernel. Under
/// the registry lock.
class Readers {
  public:
    Readers() = default;
    ~Readers();
    Readers(const Readers&) = delete;
    Readers& operator=(const Readers&) = delete;

    struct Reader {
        u64 site = 0;
        Range home{};  ///< see find_home()
        Reads reads{};
        Reader* next = nullptr;
        Reader* previous = nullptr;
    };
    using Cursor = WalkedList<Reader>::Cursor;

    /// What code at `address` must keep.
    Reads kept_at(u64 address) const;
    Reader* find(u64 site) const;
    /// nullptr when memory is short. There is none at this site before.
    Reader* add(u64 site, Range home);
    void remove(Reader& reader);
    WalkedList<Reader>& all() { return all_; }

  private:
    WalkedList<Reader> all_;
};

}  // namespace djprobe::kmod
