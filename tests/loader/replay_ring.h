// SPDX-License-Identifier: GPL-2.0
// A ring buffer like the kernel's, in this process: the same layout, the same steps to reserve and
// to submit. Tests and the benchmark read it as they would read a map.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>

#include "base/unique_fd.h"
#include "events/ring.h"

namespace djprobe::loader {

class ReplayRing {
  public:
    /// `size`: a power of two, of whole pages.
    explicit ReplayRing(std::size_t size) : size_(size), file_(memfd_create("ring", MFD_CLOEXEC)) {
        if (!file_ || ftruncate(file_.get(), static_cast<off_t>(header() + size)) != 0)
            throw error();
        // Room for the positions and twice the data, then the data's second image into it.
        void* const room =
            mmap(nullptr, header() + 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) throw error();
        base_ = static_cast<std::byte*>(room);
        map(base_, header() + size, 0);
        map(base_ + header() + size, size, header());
    }
    ReplayRing(const ReplayRing&) = delete;
    ReplayRing& operator=(const ReplayRing&) = delete;
    ~ReplayRing() { munmap(base_, header() + 2 * size_); }

    [[nodiscard]] RingMemory memory() const {
        return {consumer_pos(), producer_pos(), base_ + header(), size_};
    }

    /// Room for a record, marked as being written; null when the ring is full.
    std::byte* reserve(std::size_t length) {
        const std::uint64_t at = __atomic_load_n(producer_pos(), __ATOMIC_RELAXED);
        const std::uint64_t next = at + ((kRingHeader + length + 7) & ~std::size_t{7});
        if (next - __atomic_load_n(consumer_pos(), __ATOMIC_ACQUIRE) > size_ - 1) return nullptr;
        std::byte* const record = base_ + header() + (at & (size_ - 1));
        set_header(record, static_cast<std::uint32_t>(length) | kRingBusy);
        __atomic_store_n(producer_pos(), next, __ATOMIC_RELEASE);
        return record + kRingHeader;
    }
    static void submit(std::byte* data, std::size_t length, std::uint32_t flags = 0) {
        set_header(data - kRingHeader, static_cast<std::uint32_t>(length) | flags);
    }
    bool output(std::span<const std::byte> record) {
        std::byte* const data = reserve(record.size());
        if (data == nullptr) return false;
        std::memcpy(data, record.data(), record.size());
        submit(data, record.size());
        return true;
    }

  private:
    static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
    static std::size_t header() { return 2 * page(); }
    static std::system_error error() { return {errno, std::generic_category(), "replay ring"}; }
    static void set_header(std::byte* record, std::uint32_t value) {
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(record), value, __ATOMIC_RELEASE);
    }

    void map(std::byte* at, std::size_t length, std::size_t offset) const {
        if (mmap(at, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.get(),
                 static_cast<off_t>(offset)) == MAP_FAILED)
            throw error();
    }
    [[nodiscard]] std::uint64_t* consumer_pos() const {
        return reinterpret_cast<std::uint64_t*>(base_);
    }
    [[nodiscard]] std::uint64_t* producer_pos() const {
        return reinterpret_cast<std::uint64_t*>(base_ + page());
    }

    std::size_t size_;
    UniqueFd file_;
    std::byte* base_ = nullptr;
};

}  // namespace djprobe::loader
