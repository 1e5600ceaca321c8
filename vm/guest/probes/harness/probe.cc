// SPDX-License-Identifier: GPL-2.0
#include "probe.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <stdexcept>
#include <system_error>

namespace djprobe::vm {
namespace {

void must(int result, const char* what) {
    if (result < 0) throw std::system_error(-result, std::generic_category(), what);
}

std::string place(const Request& request) {
    if (request.symbol.empty()) return std::to_string(request.address);
    return request.symbol + "+" + std::to_string(request.offset);
}

uint64_t pointer_to_name(const Request& request) {
    return request.symbol.empty() ? 0 : reinterpret_cast<uintptr_t>(request.symbol.c_str());
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

int Fd::release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
}

void Fd::reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

int call_ioctl(int fd, unsigned long command, const void* argument) {
    const int result = ioctl(fd, command, argument);
    return result < 0 ? -errno : result;
}

djprobe_query Probe::query(uint32_t index) const {
    djprobe_query query = {};
    query.size = sizeof query;
    query.index = index;
    must(call_ioctl(fd(), DJPROBE_IOC_QUERY, &query), "DJPROBE_IOC_QUERY");
    return query;
}

djprobe_total Probe::total() const {
    djprobe_total total = {};
    total.size = sizeof total;
    must(call_ioctl(fd(), DJPROBE_IOC_TOTAL, &total), "DJPROBE_IOC_TOTAL");
    return total;
}

int Probe::enable(bool on, djprobe_enable* answer) const {
    djprobe_enable request = {};
    request.size = sizeof request;
    request.enable = on;
    const int error = call_ioctl(fd(), DJPROBE_IOC_ENABLE, &request);
    if (answer) *answer = request;
    return error;
}

djprobe_query Probe::settle() const {
    must(call_ioctl(fd(), DJPROBE_IOC_WAIT, nullptr), "DJPROBE_IOC_WAIT");
    return query();
}

Device::Device() : fd_(open(DJPROBE_DEVICE, O_RDWR | O_CLOEXEC)) {
    if (!fd_) throw std::system_error(errno, std::generic_category(), DJPROBE_DEVICE);
}

Explained Device::explain(const Request& request) const {
    Explained explained;
    djprobe_explain& answer = explained.answer;
    answer.size = sizeof answer;
    answer.symbol = pointer_to_name(request);
    answer.offset = request.offset;
    answer.address = request.address;
    answer.flags = request.flags;
    explained.error = call_ioctl(fd(), DJPROBE_IOC_EXPLAIN, &answer);
    return explained;
}

ManyAnswer Device::attach_many(std::vector<djprobe_site>& sites, int prog_fd, djprobe_mode mode,
                               uint32_t flags, const std::vector<djprobe_action>& actions,
                               int times_fd) const {
    ManyAnswer answer;
    answer.request.size = sizeof answer.request;
    answer.request.sites = reinterpret_cast<uint64_t>(sites.data());
    answer.request.count = static_cast<uint32_t>(sites.size());
    answer.request.mode = mode;
    answer.request.flags = flags;
    answer.request.prog_fd = prog_fd;
    answer.request.actions = actions.empty() ? 0 : reinterpret_cast<uint64_t>(actions.data());
    answer.request.action_count = static_cast<uint32_t>(actions.size());
    answer.request.times_fd = times_fd;
    const int result = call_ioctl(fd(), DJPROBE_IOC_ATTACH_MANY, &answer.request);
    if (result < 0)
        answer.error = result;
    else
        answer.probes = Probe(Fd(result));
    return answer;
}

Answer Device::attach(const Request& request) const {
    djprobe_attach attach = {};
    attach.size = sizeof attach;
    attach.symbol = pointer_to_name(request);
    attach.offset = request.offset;
    attach.address = request.address;
    attach.cookie = request.cookie;
    attach.prog_fd = request.prog_fd;
    attach.mode = request.mode;
    attach.flags = request.flags;
    const int result = call_ioctl(fd(), DJPROBE_IOC_ATTACH, &attach);
    Answer answer;
    answer.error = result < 0 ? result : 0;
    answer.reason = static_cast<djprobe_reason>(attach.reason);
    answer.detail[0] = attach.detail[0];
    answer.detail[1] = attach.detail[1];
    answer.address = attach.address;
    if (result >= 0) answer.probe = Probe(Fd(result));
    return answer;
}

Probe Device::must_attach(const Request& request) const {
    Answer answer = attach(request);
    if (answer.error)
        throw std::runtime_error("attach to " + place(request) + ": errno " +
                                 std::to_string(-answer.error) + ", " + describe(answer.reason));
    return std::move(answer.probe);
}

std::string describe(djprobe_reason reason) {
    switch (reason) {
#define DJPROBE_REASON_CASE(number, NAME, name, text, detail) \
    case DJPROBE_REASON_##NAME:                               \
        return name " (" text ")";
        DJPROBE_REASONS(DJPROBE_REASON_CASE)
#undef DJPROBE_REASON_CASE
    }
    return "reason " + std::to_string(reason);
}

uint64_t missed(const djprobe_query& query) {
    return std::accumulate(std::begin(query.missed), std::end(query.missed), uint64_t{0});
}

}  // namespace djprobe::vm
