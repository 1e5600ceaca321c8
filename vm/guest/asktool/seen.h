// SPDX-License-Identifier: GPL-2.0
// What asktool prints: answers, and what a program has seen.
#pragma once

#include <cstdint>
#include <string>

#include "../probes/harness/object.h"

namespace djprobe::vm {

/// "WHAT: ok" or the name of the errno.
void say(const std::string& what, int error);

/// Programs, and what they have seen; each of them counts only this process's hits.
class Seen {
  public:
    explicit Seen(const std::string& object);

    int program(const std::string& name) const { return object_.program(name); }

    /// Makes hits and prints what has come of them. At a return the argument's register is
    /// anything.
    void show(const std::string& what, uint32_t key, bool at_return = false) const;
    /// Makes hits and prints how many were seen.
    void count(const std::string& what, uint32_t key) const;

  private:
    Object object_;
};

}  // namespace djprobe::vm
