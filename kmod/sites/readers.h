// SPDX-License-Identifier: GPL-2.0
// The sites within functions whose handlers read registers.
#pragma once

#include "../border/memory.h"
#include "../code/reads.h"

namespace djprobe::kmod {

/// A detour may destroy a register that the kernel no longer needs, but not one that a handler
/// still reads further on in the same function. Under the registry lock.
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
    };

    /// What code at `address` must keep.
    Reads kept_at(u64 address) const;
    Reader* find(u64 site) const;
    void add(Box<Reader> reader);
    void remove(u64 site);

  private:
    Reader* first_ = nullptr;
};

}  // namespace djprobe::kmod
