// SPDX-License-Identifier: GPL-2.0
// A table of sites, for tests: the module's headers do not go with the standard library's.
#pragma once

#include "arch/x86/insn/types.h"

namespace djprobe::model {

/// Sites at regular distances, in a table of their own. Needs a Session, whose memory it takes.
class ManySites {
  public:
    ManySites(size_t count, u64 begin, u64 distance);
    ~ManySites();
    ManySites(const ManySites&) = delete;
    ManySites& operator=(const ManySites&) = delete;

    void remove(size_t site);
    bool finds(size_t site) const;
    /// Whether the table names `other`, exactly once, as near `site`.
    bool finds_near(size_t site, size_t other) const;
    /// How many it names as near.
    size_t count_near(size_t site) const;

  private:
    struct All;
    All* all_;
};

}  // namespace djprobe::model
