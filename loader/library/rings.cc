// SPDX-License-Identifier: GPL-2.0
#include "library/rings.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "base/error.h"
#include "events/printer.h"
#include "library/call.h"

namespace djprobe::loader {
namespace {

std::vector<const bpf_map*> ring_buffers(const bpf_object* object) {
    std::vector<const bpf_map*> maps;
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF && bpf_map__fd(map) >= 0)
            maps.push_back(map);
    }
    return maps;
}

std::size_t event_maps(const bpf_object* object) {
    std::size_t count = 0;
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        count += carries_events(map);
    }
    return count;
}

void watch(const UniqueFd& poll, int fd) {
    epoll_event event = {};
    event.events = EPOLLIN;
    if (!poll || epoll_ctl(poll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        fail(ExitCode::kFailure, "epoll: {}", std::strerror(errno));
}

}  // namespace

Rings::Rings(const bpf_object* object, FrameNames& names, const PrintRecord& json)
    : poll_(epoll_create1(EPOLL_CLOEXEC)) {
    const btf* const types = bpf_object__btf(object);
    const bool is_only = event_maps(object) == 1;
    for (const bpf_map* const map : ring_buffers(object)) {
        const RecordStyle style{
            .format = Format::kJson, .number = 0, .names = &names, .explains = false};
        const std::string name = bpf_map__name(map);
        rings_.push_back({name, RingMapping(bpf_map__fd(map), bpf_map__max_entries(map)),
                          json ? json : PrintRecord(RecordPrinter(types, name, is_only, style))});
        watch(poll_, bpf_map__fd(map));
    }
}

int Rings::fd() const {
    if (rings_.empty()) fail(ExitCode::kUsage, "the object has no ring buffer");
    return poll_.get();
}

int Rings::consume(probeload_event_fn function, void* context) {
    int count = 0;
    bool goes_on = true;
    for (const Ring& ring : rings_) {
        if (!goes_on) break;
        consume_ring(ring.mapping.memory(), [&](std::span<const std::byte> record) {
            const probeload_event event{ring.name.c_str(), record.data(), record.size()};
            ++count;
            goes_on = function(context, &event) == 0;
            return goes_on;
        });
    }
    return count;
}

int Rings::read(int timeout_ms, probeload_event_fn function, void* context) {
    const int poll = fd();
    const int count = consume(function, context);
    if (count != 0 || timeout_ms == 0) return count;
    epoll_event event = {};
    const int ready = epoll_wait(poll, &event, 1, timeout_ms);
    if (ready < 0 && errno != EINTR)
        fail(ExitCode::kFailure, "waiting for events: {}", std::strerror(errno));
    return ready > 0 ? consume(function, context) : 0;
}

const char* Rings::json(const probeload_event& event) {
    const std::string_view map = &given(event.map, "event->map");
    const auto ring = std::ranges::find(rings_, map, &Ring::name);
    if (ring == rings_.end()) fail(ExitCode::kUsage, "the object has no ring buffer '{}'", map);
    line_.clear();
    const auto* const data = static_cast<const std::byte*>(event.data);
    ring->print(line_, {&given(data, "event->data"), event.size});
    line_.data()[line_.size() - 1] = '\0';  // in place of the line's end
    return line_.data();
}

}  // namespace djprobe::loader
