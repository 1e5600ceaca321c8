// SPDX-License-Identifier: GPL-2.0
#include "kcore.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace djprobe::vm {
namespace {

void read_exactly(int fd, void* to, size_t size, uint64_t offset) {
    auto* at = static_cast<uint8_t*>(to);
    while (size > 0) {
        ssize_t got = pread(fd, at, size, static_cast<off_t>(offset));
        if (got <= 0)
            throw std::system_error(got < 0 ? errno : EIO, std::generic_category(), "/proc/kcore");
        at += got;
        offset += static_cast<uint64_t>(got);
        size -= static_cast<size_t>(got);
    }
}

}  // namespace

Kcore::Kcore() : fd_(open("/proc/kcore", O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "/proc/kcore");
    Elf64_Ehdr header;
    read_exactly(fd_, &header, sizeof header, 0);
    segments_.resize(header.e_phnum);
    read_exactly(fd_, segments_.data(), segments_.size() * sizeof(Elf64_Phdr), header.e_phoff);
}

Kcore::~Kcore() {
    close(fd_);
}

std::vector<uint8_t> Kcore::read(uint64_t address, size_t size) const {
    for (const Elf64_Phdr& segment : segments_) {
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
        uint64_t offset = address - segment.p_vaddr;
        if (offset > segment.p_memsz || size > segment.p_memsz - offset) continue;
        std::vector<uint8_t> bytes(size);
        read_exactly(fd_, bytes.data(), size, segment.p_offset + offset);
        return bytes;
    }
    throw std::runtime_error("/proc/kcore has no segment with the wanted text");
}

}  // namespace djprobe::vm
