// SPDX-License-Identifier: GPL-2.0
// A BPF ring buffer as its reader sees it: the kernel's layout, without libbpf. libbpf gives the
// room of each record back by itself, a cache line that the producers want; here a batch of
// records goes back at once. And a replay in userspace can read the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace djprobe::loader {

/// The memory of a ring buffer, by the kernel's words. Does not own it.
struct RingMemory {
    std::uint64_t* consumer_pos = nullptr;
    const std::uint64_t* producer_pos = nullptr;
    const std::byte* data = nullptr;  ///< mapped twice in a row: no record is ever split
    std::size_t size = 0;             ///< of the data, a power of two
};

inline constexpr std::uint32_t kRingBusy = 1U << 31;     ///< in a record's length: being written
inline constexpr std::uint32_t kRingDiscard = 1U << 30;  ///< to be skipped
inline constexpr std::size_t kRingHeader = 8;            ///< bytes before each record

/// Hands each complete record to `handle`, a function of std::span<const std::byte> that returns
/// false to stop. Ends where the ring ended when it began, so that producers who are as fast as
/// `handle` do not hold it for ever, or at a record that is still being written. Returns the bytes
/// that were read, headers included.
template <typename Handle>
std::size_t consume_ring(const RingMemory& ring, Handle&& handle) {
    // Often enough that producers of a small ring find room, seldom enough that they keep the line.
    const std::uint64_t batch = ring.size / 8;
    const std::uint64_t start = __atomic_load_n(ring.consumer_pos, __ATOMIC_RELAXED);
    const std::uint64_t end = __atomic_load_n(ring.producer_pos, __ATOMIC_ACQUIRE);
    std::uint64_t at = start;
    std::uint64_t given_back = start;
    bool more = true;
    while (more && at < end) {
        const std::byte* const record = ring.data + (at & (ring.size - 1));
        const std::uint32_t header =
            __atomic_load_n(reinterpret_cast<const std::uint32_t*>(record), __ATOMIC_ACQUIRE);
        if ((header & kRingBusy) != 0) break;
        const std::size_t length = header & ~kRingDiscard;
        at += (kRingHeader + length + 7) & ~std::size_t{7};
        if ((header & kRingDiscard) == 0) {
            more = handle(std::span<const std::byte>(record + kRingHeader, length));
        }
        if (at - given_back >= batch) {
            __atomic_store_n(ring.consumer_pos, at, __ATOMIC_RELEASE);
            given_back = at;
        }
    }
    if (at != given_back) __atomic_store_n(ring.consumer_pos, at, __ATOMIC_RELEASE);
    return at - start;
}

/// A ring buffer map, mapped.
class RingMapping {
  public:
    /// `size`: the map's max_entries. Throws std::system_error.
    RingMapping(int map_fd, std::size_t size);
    RingMapping(RingMapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    RingMapping& operator=(RingMapping&&) = delete;
    ~RingMapping();

    [[nodiscard]] const RingMemory& memory() const noexcept { return memory_; }

  private:
    RingMemory memory_;
};

}  // namespace djprobe::loader
