// SPDX-License-Identifier: GPL-2.0
#include "support/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

namespace djprobe::test {
namespace {

u8* map(int file, int protection, int flags) {
    void* at = mmap(nullptr, Arena::kSize, protection, MAP_SHARED | flags, file, 0);
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "arena: mmap");
    return static_cast<u8*>(at);
}

}  // namespace

Arena::Arena(Place place) {
    const int file = memfd_create("djprobe-arena", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, kSize))
        throw std::system_error(errno, std::generic_category(), "arena: memfd");
    base_ = map(file, PROT_READ | PROT_EXEC, place == Place::Low ? MAP_32BIT : 0);
    alias_ = map(file, PROT_READ | PROT_WRITE, 0);
    close(file);
    if (mprotect(base_ + kData, kSize - kData, PROT_READ | PROT_WRITE))
        throw std::system_error(errno, std::generic_category(), "arena: mprotect");
}

Arena::~Arena() {
    munmap(base_, kSize);
    munmap(alias_, kSize);
}

void Arena::write(u64 address, Span<const u8> bytes) {
    if (!bytes.empty()) std::memcpy(alias_ + (address - text()), bytes.data(), bytes.size());
}

}  // namespace djprobe::test
