// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "load.h"
#include "object.h"
#include "probe.h"

namespace djprobe::vm {

inline constexpr djprobe_mode kBothModes[] = {DJPROBE_MODE_INT3, DJPROBE_MODE_AUTO};

/// A device and the counting handler of bpf/.
class ProbeTest : public testing::Test {
  protected:
    /// A request with the counting handler.
    Request at(const std::string& symbol, uint64_t offset = 0,
               djprobe_mode mode = DJPROBE_MODE_AUTO) const {
        Request request;
        request.symbol = symbol;
        request.offset = offset;
        request.prog_fd = counter();
        request.mode = mode;
        return request;
    }
    Request at_address(uint64_t address, djprobe_mode mode = DJPROBE_MODE_AUTO) const {
        Request request;
        request.address = address;
        request.prog_fd = counter();
        request.mode = mode;
        return request;
    }
    int counter() const { return count_.program("on_hit"); }
    uint64_t counted() const { return count_.sum("count", 0); }

    /// Settled, with the mechanism that the mode promises.
    static void expect_mechanism(const Probe& probe, djprobe_mode mode) {
        const djprobe_query query = probe.settle();
        EXPECT_EQ(query.mechanism,
                  static_cast<uint32_t>(mode == DJPROBE_MODE_INT3 ? DJPROBE_MECHANISM_INT3
                                                                  : DJPROBE_MECHANISM_JUMP))
            << describe(static_cast<djprobe_reason>(query.reason));
    }

    Device device_;

  private:
    Object count_{"count"};
};

/// Int3 probes at the first `most` instructions of a function that can be probed, from its entry
/// on.
std::vector<Probe> attach_everywhere(const Device& device, int prog_fd, const std::string& symbol,
                                     size_t most);

}  // namespace djprobe::vm
