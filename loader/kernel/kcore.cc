// SPDX-License-Identifier: GPL-2.0
#include "kernel/kcore.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "kernel/rights.h"

namespace djprobe::loader {
namespace {

constexpr const char* kPath = "/proc/kcore";

[[noreturn]] void cannot_open(int error) {
    if (error == ENOENT)
        fail(ExitCode::kFailure, "{}: the kernel has none (CONFIG_PROC_KCORE)", kPath);
    if (error == EACCES || error == EPERM)
        fail(ExitCode::kNoPermission, "{}: {}: {}", kPath, std::strerror(error),
             why_not_opened(kPath, {Capability::kSysRawio}));
    fail(ExitCode::kFailure, "{}: {}", kPath, std::strerror(error));
}

void read_exactly(int fd, void* to, std::size_t size, std::uint64_t offset) {
    auto* at = static_cast<std::byte*>(to);
    while (size > 0) {
        const ssize_t got = pread(fd, at, size, static_cast<off_t>(offset));
        if (got <= 0)
            fail(ExitCode::kFailure, "{}: {}", kPath,
                 got < 0 ? std::strerror(errno) : "ends early");
        at += got;
        offset += static_cast<std::uint64_t>(got);
        size -= static_cast<std::size_t>(got);
    }
}

}  // namespace

Kcore::Kcore() : fd_(open(kPath, O_RDONLY | O_CLOEXEC)) {
    if (!fd_) cannot_open(errno);
    Elf64_Ehdr header;
    read_exactly(fd_.get(), &header, sizeof header, 0);
    std::vector<Elf64_Phdr> table(header.e_phnum);
    read_exactly(fd_.get(), table.data(), table.size() * sizeof(Elf64_Phdr), header.e_phoff);
    for (const Elf64_Phdr& entry : table) {
        if (entry.p_type == PT_LOAD)
            segments_.push_back({entry.p_vaddr, entry.p_memsz, entry.p_offset});
    }
}

std::vector<std::uint8_t> Kcore::read(std::uint64_t address, std::size_t size) const {
    for (const Segment& segment : segments_) {
        if (address < segment.address || address - segment.address > segment.size ||
            size > segment.size - (address - segment.address))
            continue;
        std::vector<std::uint8_t> bytes(size);
        read_exactly(fd_.get(), bytes.data(), size, segment.offset + address - segment.address);
        return bytes;
    }
    fail(ExitCode::kFailure, "{}: does not hold {:#x}..{:#x}", kPath, address, address + size);
}

}  // namespace djprobe::loader
