// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"

#include <cerrno>

namespace djprobe::vm {

std::vector<Probe> attach_everywhere(const Device& device, int prog_fd, const std::string& symbol,
                                     size_t most) {
    Request request;
    request.symbol = symbol;
    request.prog_fd = prog_fd;
    request.mode = DJPROBE_MODE_INT3;
    std::vector<Probe> found;
    found.push_back(device.must_attach(request));
    const djprobe_query entry = found.front().query();
    const uint64_t start = entry.address - entry.offset;
    request.offset = entry.offset + 1;
    while (found.size() < most) {
        Answer answer = device.attach(request);
        if (answer.error == -ERANGE) break;
        if (!answer.error) {
            found.push_back(std::move(answer.probe));
            ++request.offset;
        } else if (answer.reason == DJPROBE_REASON_NOT_BOUNDARY) {
            request.offset = answer.detail[1] - start;
        } else {
            ++request.offset;
        }
    }
    return found;
}

}  // namespace djprobe::vm
