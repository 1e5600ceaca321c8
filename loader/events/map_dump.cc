// SPDX-License-Identifier: GPL-2.0
#include "events/map_dump.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <span>

#include "base/error.h"
#include "events/queue_dump.h"
#include "events/stack_dump.h"
#include "events/value_printer.h"
#include "kernel/possible_cpus.h"

namespace djprobe::loader {
namespace {

constexpr std::uint32_t kSmall = 16;        // entries: all of them
constexpr std::size_t kMostShown = 64;      // of a larger one
constexpr std::size_t kMostRead = 1 << 16;  // two system calls each
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

enum class Layout { kPlain, kPerCpu, kOther };

Layout layout(const bpf_map* map) {
    switch (bpf_map__type(map)) {
        case BPF_MAP_TYPE_ARRAY:
        case BPF_MAP_TYPE_HASH:
        case BPF_MAP_TYPE_LRU_HASH:
            return Layout::kPlain;
        case BPF_MAP_TYPE_PERCPU_ARRAY:
        case BPF_MAP_TYPE_PERCPU_HASH:
        case BPF_MAP_TYPE_LRU_PERCPU_HASH:
            return Layout::kPerCpu;
        default:
            return Layout::kOther;
    }
}

class MapDumper {
  public:
    MapDumper(const btf* btf, const bpf_map* map, FrameNames& names)
        : map_(map),
          per_cpu_(layout(map) == Layout::kPerCpu),
          cpus_(per_cpu_ ? possible_cpus() : 1),
          size_(bpf_map__value_size(map)),
          // The kernel rounds each CPU's slot up to 8 bytes.
          stride_(per_cpu_ ? (size_ + 7) / 8 * 8 : size_),
          keys_(btf, bpf_map__btf_key_type_id(map), bpf_map__key_size(map), "", &names),
          values_(btf, bpf_map__btf_value_type_id(map), size_, bpf_map__name(map), &names) {}

    [[nodiscard]] bool counts() const { return values_.is_integer() && size_ <= 8; }
    [[nodiscard]] bool has_histograms() const { return values_.has_histograms(); }

    void dump(MapDump& out) {
        bool cut = false;
        std::vector<Found> found = read(cut);
        const std::uint32_t type = bpf_map__type(map_);
        const bool array = type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
        if (bpf_map__max_entries(map_) > kSmall) {
            if (!array && counts())
                std::ranges::stable_sort(found, std::ranges::greater{},
                                         [this](const Found& entry) { return rank(entry.value); });
            const std::size_t shown = std::min(found.size(), kMostShown);
            if (cut || shown < found.size())
                out.left_out.push_back({bpf_map__name(map_), found.size() - shown, cut});
            found.resize(shown);
        }
        for (const Found& each : found) {
            MapEntry entry;
            entry.map = bpf_map__name(map_);
            entry.key_text = keys_.text(each.key);
            entry.key = keys_.json(each.key);
            describe_value(each.value, entry);
            out.entries.push_back(std::move(entry));
        }
    }

  private:
    struct Found {
        std::vector<std::byte> key, value;
    };

    // A large map shows the values that are not zero; `cut` when there is more than is read.
    [[nodiscard]] std::vector<Found> read(bool& cut) const {
        std::vector<Found> found;
        std::vector<std::byte> key(bpf_map__key_size(map_)), next(key.size());
        std::vector<std::byte> value(stride_ * cpus_);
        const void* previous = nullptr;
        const int fd = bpf_map__fd(map_);
        const bool large = bpf_map__max_entries(map_) > kSmall;
        // An entry that goes meanwhile lets the next key be the first one again: no more than there
        // can be, and each once.
        std::set<std::vector<std::byte>> known;
        const std::size_t can_be = bpf_map__max_entries(map_);
        std::size_t seen = 0;
        for (; bpf_map_get_next_key(fd, previous, next.data()) == 0 && seen < can_be; ++seen) {
            if (seen == kMostRead || found.size() * (value.size() + key.size()) > kMostBytes) {
                cut = true;
                break;
            }
            key = next;
            previous = key.data();
            if (!known.insert(key).second) continue;
            if (bpf_map_lookup_elem(fd, previous, value.data()) != 0) continue;
            const auto is_zero = [](std::byte byte) { return byte == std::byte{}; };
            if (!large || !std::ranges::all_of(value, is_zero)) found.push_back({key, value});
        }
        return found;
    }

    // The order is by number with its sign, the largest first.
    [[nodiscard]] std::int64_t rank(const std::vector<std::byte>& value) const {
        const auto unused = static_cast<unsigned>(64 - 8 * size_);
        const std::uint64_t high = sum(value) << unused;
        if (values_.is_signed()) return static_cast<std::int64_t>(high) >> unused;
        const std::uint64_t number = high >> unused;
        return static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
    }

    // Two's complement: the low bytes of the sum are right for signed integers too.
    [[nodiscard]] std::uint64_t sum(const std::vector<std::byte>& value) const {
        std::uint64_t sum = 0;
        for (std::size_t cpu = 0; cpu < cpus_; ++cpu) {
            std::uint64_t part = 0;
            std::memcpy(&part, of_cpu(value, cpu).data(), size_);
            sum += part;
        }
        return sum;
    }

    [[nodiscard]] std::span<const std::byte> of_cpu(const std::vector<std::byte>& value,
                                                    std::size_t cpu) const {
        return std::span(value).subspan(cpu * stride_, size_);
    }

    void describe_value(const std::vector<std::byte>& value, MapEntry& entry) {
        if (!per_cpu_) {
            entry.value_text = values_.text(value);
            entry.value = values_.json(value);
            entry.chart = values_.charts(value);
        } else if (counts()) {
            const std::uint64_t all = sum(value);
            const auto bytes = std::as_bytes(std::span(&all, 1)).first(size_);
            entry.value_text = values_.text(bytes);
            entry.value = values_.json(bytes);
        } else {
            entry.value = nlohmann::ordered_json::array();
            for (std::size_t cpu = 0; cpu < cpus_; ++cpu) {
                entry.value_text += fmt::format("{}cpu{}={{{}}}", cpu == 0 ? "" : " ", cpu,
                                                values_.text(of_cpu(value, cpu)));
                entry.value.push_back(values_.json(of_cpu(value, cpu)));
            }
        }
    }

    const bpf_map* map_;
    bool per_cpu_;
    std::size_t cpus_;
    std::size_t size_;
    std::size_t stride_;
    ValuePrinter keys_;
    ValuePrinter values_;
};

}  // namespace

MapDump dump_maps(const bpf_object* object, MapValues values, bool at_end, FrameNames& names) {
    MapDump dump;
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (bpf_map__type(map) == BPF_MAP_TYPE_STACK_TRACE) dump_stacks(map, names, dump);
        if (is_queue(map)) dump_queue(bpf_object__btf(object), map, at_end, names, dump);
        if (bpf_map__is_internal(map) || layout(map) == Layout::kOther) continue;
        MapDumper dumper(bpf_object__btf(object), map, names);
        if (values == MapValues::kAny || dumper.counts() || dumper.has_histograms())
            dumper.dump(dump);
    }
    return dump;
}

}  // namespace djprobe::loader
