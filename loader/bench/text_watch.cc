// SPDX-License-Identifier: GPL-2.0
#include "bench/text_watch.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace djprobe::loader {
namespace {

constexpr const char* kPath = "/proc/kcore";
using Clock = std::chrono::steady_clock;

void read_exactly(int fd, void* to, std::size_t size, std::uint64_t offset) {
    auto* at = static_cast<std::byte*>(to);
    while (size > 0) {
        const ssize_t got = pread(fd, at, size, static_cast<off_t>(offset));
        if (got <= 0)
            fail(ExitCode::kFailure, "{}: {}", kPath, got < 0 ? std::strerror(errno) : "too short");
        at += got;
        offset += static_cast<std::uint64_t>(got);
        size -= static_cast<std::size_t>(got);
    }
}

}  // namespace

LiveText::LiveText() : fd_(open(kPath, O_RDONLY | O_CLOEXEC)) {
    if (!fd_)
        fail(errno == EACCES || errno == EPERM ? ExitCode::kNoPermission : ExitCode::kFailure,
             "{}: {}", kPath, std::strerror(errno));
    Elf64_Ehdr header;
    read_exactly(fd_.get(), &header, sizeof header, 0);
    std::vector<Elf64_Phdr> table(header.e_phnum);
    read_exactly(fd_.get(), table.data(), table.size() * sizeof(Elf64_Phdr), header.e_phoff);
    for (const Elf64_Phdr& entry : table) {
        if (entry.p_type == PT_LOAD)
            segments_.push_back({entry.p_vaddr, entry.p_memsz, entry.p_offset});
    }
}

std::vector<std::uint8_t> LiveText::read(std::uint64_t address, std::size_t size) const {
    for (const Segment& segment : segments_) {
        if (address < segment.address || address - segment.address > segment.size ||
            size > segment.size - (address - segment.address))
            continue;
        std::vector<std::uint8_t> bytes(size);
        read_exactly(fd_.get(), bytes.data(), size, segment.offset + address - segment.address);
        return bytes;
    }
    fail(ExitCode::kFailure, "{} has no memory at {:#x}", kPath, address);
}

std::string Patch::str() const {
    switch (opcode) {
        case kOpInt3:
            return fmt::format("int3 +{:#x}", offset);
        case kOpJump:
        case kOpShortJump:
            return fmt::format("jmp +{:#x}", offset);
        case kOpCall:
            return fmt::format("call +{:#x}", offset);
        default:
            return fmt::format("{:02x} +{:#x}", opcode, offset);
    }
}

std::optional<Patch> first_patch(const std::vector<std::uint8_t>& original,
                                 const std::vector<std::uint8_t>& now) {
    const auto [was, is] = std::ranges::mismatch(original, now);
    if (was == original.end()) return std::nullopt;
    return Patch{static_cast<std::uint64_t>(was - original.begin()), *is};
}

TextWatch::TextWatch(const LiveText& text, std::uint64_t address, std::size_t size)
    : text_(text), address_(address), original_(text.read(address, size)) {}

std::optional<Patch> TextWatch::patch() const {
    return first_patch(original_, text_.read(address_, original_.size()));
}

std::optional<Patch> TextWatch::wait(const std::function<bool(std::optional<Patch>)>& wanted,
                                     Duration limit) const {
    const auto end = Clock::now() + limit;
    for (;;) {
        const std::optional<Patch> now = patch();
        if (wanted(now) || Clock::now() >= end) return now;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace djprobe::loader
