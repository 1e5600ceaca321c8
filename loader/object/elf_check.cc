// SPDX-License-Identifier: GPL-2.0
#include "object/elf_check.h"

#include <elf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/regular_file.h"

namespace djprobe::loader {

void check_bpf_elf(const std::filesystem::path& file, const std::string& name) {
    struct stat status = {};
    const UniqueFd fd = open_regular(file, status);
    if (status.st_size == 0) fail(ExitCode::kBadFile, "{}: empty file", name);

    Elf64_Ehdr header = {};
    const ssize_t got = read(fd.get(), &header, sizeof header);
    if (got < 0) fail(ExitCode::kBadFile, "{}: {}", name, std::strerror(errno));
    if (got < SELFMAG || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        fail(ExitCode::kBadFile,
             "{}: not an ELF file; expected a BPF object (.bpf.o) or its source (.bpf.c)", name);
    }
    if (got < static_cast<ssize_t>(sizeof header)) {
        fail(ExitCode::kBadFile, "{}: truncated: its ELF header is incomplete", name);
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_BPF || header.e_type != ET_REL) {
        fail(ExitCode::kBadFile,
             "{}: an ELF file, but not a BPF object (built with clang -target bpf -c)", name);
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const auto headers = std::uint64_t{header.e_shnum} * header.e_shentsize;
    // The sum of the two may wrap.
    if (header.e_shoff > size || headers > size - header.e_shoff) {
        fail(ExitCode::kBadFile, "{}: truncated: has {} bytes, needs {} for section headers at {}",
             name, size, headers, header.e_shoff);
    }
}

}  // namespace djprobe::loader
