// SPDX-License-Identifier: GPL-2.0
#include "events/reader.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kPerfPages = 64;

bool carries_events(const bpf_map* map) {
    const bpf_map_type type = bpf_map__type(map);
    return type == BPF_MAP_TYPE_RINGBUF || type == BPF_MAP_TYPE_PERF_EVENT_ARRAY;
}

std::vector<bpf_map*> event_maps(const bpf_object* object) {
    std::vector<bpf_map*> maps;
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (carries_events(map) && bpf_map__fd(map) >= 0) maps.push_back(map);
    }
    return maps;
}

}  // namespace

EventReader::EventReader(bpf_object* object, Format format, Output& output, const StopSignals& stop)
    : output_(output), stop_(stop) {
    const std::vector<bpf_map*> maps = event_maps(object);
    for (bpf_map* map : maps) {
        const bool is_ring = bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF;
        Source& source = sources_.emplace_back(Source{
            this, RecordPrinter(bpf_object__btf(object), bpf_map__name(map), maps.size() == 1,
                                format, is_ring ? RecordSize::kExact : RecordSize::kPadded)});
        is_ring ? add_ring(map, source) : add_perf(map, source);
    }
    if (ring_) fds_.push_back(ring_buffer__epoll_fd(ring_.get()));
    for (const auto& perf : perf_)
        fds_.push_back(perf_buffer__epoll_fd(perf.get()));
}

void EventReader::add_ring(bpf_map* map, Source& source) {
    const auto callback = [](void* context, void* data, std::size_t size) {
        auto& source = *static_cast<Source*>(context);
        source.reader->on_record(source, data, size);
        // libbpf reads on for as long as the kernel writes faster.
        return source.reader->must_stop() ? -ECANCELED : 0;
    };
    const int fd = bpf_map__fd(map);
    if (ring_) {
        if (ring_buffer__add(ring_.get(), fd, callback, &source) == 0) return;
    } else {
        ring_.reset(ring_buffer__new(fd, callback, &source, nullptr));
        if (ring_) return;
    }
    fail(ExitCode::kFailure, "map '{}': cannot read the ring buffer: {}", bpf_map__name(map),
         std::strerror(errno));
}

void EventReader::add_perf(bpf_map* map, Source& source) {
    const auto on_sample = [](void* context, int, void* data, __u32 size) {
        auto& source = *static_cast<Source*>(context);
        source.reader->on_record(source, data, size);
    };
    const auto on_lost = [](void* context, int, __u64 count) {
        static_cast<Source*>(context)->reader->lost_by_perf_ += count;
    };
    perf_.emplace_back(
        perf_buffer__new(bpf_map__fd(map), kPerfPages, on_sample, on_lost, &source, nullptr));
    if (!perf_.back()) {
        fail(ExitCode::kFailure, "map '{}': cannot read the perf buffer: {}", bpf_map__name(map),
             std::strerror(errno));
    }
}

void EventReader::on_record(Source& source, const void* data, std::size_t size) {
    ++received_;
    source.printer.print(output_.buffer(), {static_cast<const std::byte*>(data), size});
    output_.flush_if_full();
}

void EventReader::read() {
    consume();
    output_.flush();
}

void EventReader::drain() {
    draining_ = true;
    read();
}

void EventReader::consume() {
    if (ring_) {
        const int result = ring_buffer__consume(ring_.get());
        if (result < 0 && result != -ECANCELED) {
            fail(ExitCode::kFailure, "reading the ring buffer: {}", std::strerror(-result));
        }
    }
    for (const auto& perf : perf_) {
        const int result = perf_buffer__consume(perf.get());
        if (result < 0) {
            fail(ExitCode::kFailure, "reading the perf buffer: {}", std::strerror(-result));
        }
    }
}

}  // namespace djprobe::loader
