// SPDX-License-Identifier: GPL-2.0
#include "events/ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace djprobe::loader {
namespace {

std::size_t page() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void* map_part(int fd, std::size_t length, int protection, std::size_t offset) {
    void* const at = mmap(nullptr, length, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category());
    return at;
}

}  // namespace

RingMapping::RingMapping(int map_fd, std::size_t size) {
    // The first page is the only one that we may write.
    void* const consumer = map_part(map_fd, page(), PROT_READ | PROT_WRITE, 0);
    memory_.consumer_pos = static_cast<std::uint64_t*>(consumer);
    try {
        const void* const producer = map_part(map_fd, page() + 2 * size, PROT_READ, page());
        memory_.producer_pos = static_cast<const std::uint64_t*>(producer);
    } catch (...) {
        munmap(consumer, page());
        throw;
    }
    memory_.data = reinterpret_cast<const std::byte*>(memory_.producer_pos) + page();
    memory_.size = size;
}

RingMapping::~RingMapping() {
    if (memory_.size == 0) return;
    munmap(memory_.consumer_pos, page());
    munmap(const_cast<std::uint64_t*>(memory_.producer_pos), page() + 2 * memory_.size);
}

}  // namespace djprobe::loader
