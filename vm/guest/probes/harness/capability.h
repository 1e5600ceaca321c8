// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace djprobe::vm {

/// Root without one capability, until its end.
class Without {
  public:
    explicit Without(unsigned capability) : capability_(capability) { set(false); }
    ~Without() { set(true); }
    Without(const Without&) = delete;
    Without& operator=(const Without&) = delete;

  private:
    void set(bool on) const {
        __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        __user_cap_data_struct data[2] = {};
        const uint32_t bit = 1u << capability_ % 32;
        bool done = syscall(SYS_capget, &header, data) == 0;
        // It stays permitted: so it can be had again.
        uint32_t& effective = data[capability_ / 32].effective;
        effective = on ? effective | bit : effective & ~bit;
        done = done && syscall(SYS_capset, &header, data) == 0;
        if (!done) throw std::system_error(errno, std::generic_category(), "capset");
    }

    unsigned capability_;
};

}  // namespace djprobe::vm
