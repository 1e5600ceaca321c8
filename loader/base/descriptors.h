// SPDX-License-Identifier: GPL-2.0
// How many descriptors this process may have. Each place that is named by itself takes one.
#pragma once

#include <sys/resource.h>

#include <string>

namespace djprobe::loader {

/// As many as it may allow itself (the hard limit). The processes that it starts get the limit that
/// it was given.
void use_all_descriptors();

/// "too many open files: this process may have 1024 (ulimit -n): raise that"
std::string out_of_descriptors();

/// While it lives the limit is the one that was given: a process that starts takes it over.
class GivenDescriptorLimit {
  public:
    GivenDescriptorLimit();
    ~GivenDescriptorLimit();
    GivenDescriptorLimit(const GivenDescriptorLimit&) = delete;
    GivenDescriptorLimit& operator=(const GivenDescriptorLimit&) = delete;

  private:
    rlim_t raised_ = 0;  // 0: it was not raised
};

}  // namespace djprobe::loader
