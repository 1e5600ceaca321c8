// SPDX-License-Identifier: GPL-2.0
// The event maps of an object, read.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/output.h"
#include "base/stop_signals.h"
#include "events/printer.h"
#include "events/ring.h"

namespace djprobe::loader {

/// Before the object is loaded: the size of its ring buffers, a power of two from 4096 on.
void set_ring_sizes(const bpf_object* object, std::size_t bytes);

/// Whether the map carries events.
bool carries_events(const bpf_map* map);
/// True if the object has such a map.
bool carries_events(const bpf_object* object);

/// Appends one record, with its line's end.
using PrintRecord = std::function<void(Buffer& out, std::span<const std::byte> record)>;
/// Makes that of a map's records; `is_only`: no other map carries events.
using MakePrinter =
    std::function<PrintRecord(const std::string& map, bool is_only, const RecordStyle& style)>;

/// Reads every ring buffer and perf event array of a loaded object and prints their records.
class EventReader {
  public:
    /// Throws Error when a map cannot be read.
    /// `buffer`: bytes for each CPU, of perf event arrays.
    EventReader(bpf_object* object, Format format, Output& output, const StopSignals& stop,
                std::optional<std::size_t> buffer, const MakePrinter& make);
    EventReader(const EventReader&) = delete;
    EventReader& operator=(const EventReader&) = delete;

    /// True if the object has a map that carries events.
    [[nodiscard]] bool has_sources() const noexcept { return !sources_.empty(); }
    /// Readable when there are events; for poll().
    [[nodiscard]] const std::vector<int>& fds() const noexcept { return fds_; }
    /// The names of the event maps; raw records carry the index.
    [[nodiscard]] std::vector<std::string> map_names() const;

    /// Prints the events that are there; returns early when a signal or a closed stdout asks to
    /// stop.
    void read();
    /// True if the last read() found so little, measured by the room in the ring buffers, that the
    /// next one may wait until more has gathered.
    [[nodiscard]] bool has_room() const noexcept { return has_room_; }
    /// Prints the rest, whatever the signals: for the end, when no probe sends any more.
    void drain();

    /// Takes no more than so many events in all.
    void set_limit(std::uint64_t events) noexcept { limit_ = events; }
    [[nodiscard]] bool at_limit() const noexcept { return received_ >= limit_; }

    [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
    /// Records that the kernel reports as lost (perf event arrays do; ring buffers cannot).
    [[nodiscard]] std::uint64_t lost_by_perf() const noexcept { return lost_by_perf_; }
    /// True if loss is only known to the program: the object has a ring buffer.
    [[nodiscard]] bool has_ring_buffer() const noexcept { return has_ring_; }

  private:
    struct Source {
        EventReader* reader;
        std::string name;
        PrintRecord print;
        std::optional<RingMapping> ring;
    };
    struct FreePerf {
        void operator()(perf_buffer* perf) const { perf_buffer__free(perf); }
    };

    void add_ring(bpf_map* map, Source& source);
    void add_perf(bpf_map* map, Source& source, std::size_t pages);
    void consume();
    void on_record(Source& source, std::span<const std::byte> record);
    [[nodiscard]] bool must_stop() const {
        return !draining_ && (stop_.requested() || output_.closed());
    }

    Output& output_;
    const StopSignals& stop_;
    bool draining_ = false;
    std::uint64_t received_ = 0;
    std::uint64_t limit_ = UINT64_MAX;
    std::uint64_t lost_by_perf_ = 0;
    bool has_ring_ = false;
    bool has_room_ = false;
    std::list<Source> sources_;  // libbpf's callbacks hold their addresses
    std::vector<std::unique_ptr<perf_buffer, FreePerf>> perf_;
    std::vector<int> fds_;
};

}  // namespace djprobe::loader
