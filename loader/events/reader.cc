// SPDX-License-Identifier: GPL-2.0
#include "events/reader.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPerfBuffer = 64 * kPage;
// A burst of so many times what came last must still fit.
constexpr std::size_t kBurst = 16;

std::vector<bpf_map*> event_maps(const bpf_object* object) {
    std::vector<bpf_map*> maps;
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (carries_events(map) && bpf_map__fd(map) >= 0) maps.push_back(map);
    }
    return maps;
}

}  // namespace

bool carries_events(const bpf_map* map) {
    const bpf_map_type type = bpf_map__type(map);
    return type == BPF_MAP_TYPE_RINGBUF || type == BPF_MAP_TYPE_PERF_EVENT_ARRAY;
}

bool carries_events(const bpf_object* object) {
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (carries_events(map)) return true;
    }
    return false;
}

void set_ring_sizes(const bpf_object* object, std::size_t bytes) {
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
            bpf_map__set_max_entries(map, static_cast<__u32>(bytes));
    }
}

EventReader::EventReader(bpf_object* object, Format format, Output& output, const StopSignals& stop,
                         std::optional<std::size_t> buffer, const MakePrinter& make)
    : output_(output), stop_(stop) {
    const std::vector<bpf_map*> maps = event_maps(object);
    for (bpf_map* map : maps) {
        const bool is_ring = bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF;
        const std::string name = bpf_map__name(map);
        const RecordStyle style{.format = format,
                                .size = is_ring ? RecordSize::kExact : RecordSize::kPadded,
                                .number = static_cast<std::uint32_t>(sources_.size())};
        Source& source = sources_.emplace_back(
            Source{this, name, make(name, maps.size() == 1, style), std::nullopt});
        is_ring ? add_ring(map, source)
                : add_perf(map, source, buffer.value_or(kPerfBuffer) / kPage);
    }
}

std::vector<std::string> EventReader::map_names() const {
    std::vector<std::string> names;
    for (const Source& source : sources_)
        names.push_back(source.name);
    return names;
}

void EventReader::add_ring(bpf_map* map, Source& source) {
    try {
        source.ring.emplace(bpf_map__fd(map), bpf_map__max_entries(map));
    } catch (const std::system_error& error) {
        fail(ExitCode::kFailure, "map '{}': cannot read the ring buffer: {}", source.name,
             error.code().message());
    }
    fds_.push_back(bpf_map__fd(map));
    has_ring_ = true;
}

void EventReader::add_perf(bpf_map* map, Source& source, std::size_t pages) {
    const auto on_sample = [](void* context, int, void* data, __u32 size) {
        auto& source = *static_cast<Source*>(context);
        source.reader->on_record(source, {static_cast<const std::byte*>(data), size});
    };
    const auto on_lost = [](void* context, int, __u64 count) {
        static_cast<Source*>(context)->reader->lost_by_perf_ += count;
    };
    perf_.emplace_back(
        perf_buffer__new(bpf_map__fd(map), pages, on_sample, on_lost, &source, nullptr));
    if (!perf_.back()) {
        fail(ExitCode::kFailure, "map '{}': cannot read the perf buffer: {}", bpf_map__name(map),
             std::strerror(errno));
    }
    fds_.push_back(perf_buffer__epoll_fd(perf_.back().get()));
}

void EventReader::on_record(Source& source, std::span<const std::byte> record) {
    if (at_limit()) return;
    ++received_;
    source.print(output_.buffer(), record);
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
    // The kernel does not tell how full perf buffers were.
    has_room_ = perf_.empty();
    for (Source& source : sources_) {
        if (!source.ring) continue;
        const std::size_t bytes =
            consume_ring(source.ring->memory(), [this, &source](std::span<const std::byte> record) {
                on_record(source, record);
                // Producers may write as fast as we read.
                return !must_stop();
            });
        has_room_ = has_room_ && bytes <= source.ring->memory().size / kBurst;
    }
    for (const auto& perf : perf_) {
        const int result = perf_buffer__consume(perf.get());
        if (result < 0) {
            fail(ExitCode::kFailure, "reading the perf buffer: {}", std::strerror(-result));
        }
    }
}

}  // namespace djprobe::loader
