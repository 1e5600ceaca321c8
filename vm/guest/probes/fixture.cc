// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"

#include <cerrno>

namespace djprobe::vm {

std::vector<uint64_t> boundaries(const Device& device, int prog_fd, const std::string& symbol) {
    Request request;
    request.symbol = symbol;
    request.prog_fd = prog_fd;
    request.mode = DJPROBE_MODE_INT3;
    const djprobe_query entry = device.must_attach(request).query();
    std::vector<uint64_t> found = {entry.offset};
    for (request.offset = entry.offset + 1;;) {
        const Answer answer = device.attach(request);
        if (answer.error == -ERANGE) return found;
        const uint64_t start = entry.address - entry.offset;
        if (answer.reason == DJPROBE_REASON_NOT_BOUNDARY) {
            // The answer names the neighbours: it must know that of the last accepted byte.
            EXPECT_LT(answer.detail[0], start + request.offset) << symbol;
            EXPECT_GT(answer.detail[1], start + request.offset) << symbol;
            EXPECT_GE(answer.detail[0], start + found.back()) << symbol;
            request.offset = answer.detail[1] - start;
            continue;
        }
        if (!answer.error) found.push_back(request.offset);
        ++request.offset;
    }
}

}  // namespace djprobe::vm
