// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes as a BPF object. What the check lets through has a whole ELF header and
// section headers that lie within the file; what it refuses gets one line.
#include <elf.h>

#include <cstring>

#include "base/error.h"
#include "memory_file.h"
#include "object/elf_check.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace djprobe;
    using test::require;
    static const test::MemoryFile file;
    file.fill(data, size);
    try {
        loader::check_bpf_elf(file.path(), "file");
    } catch (const loader::Error& error) {
        require(error.code() == loader::ExitCode::kBadFile, "a bad file");
        require(!std::strchr(error.what(), '\n'), "one line");
        return 0;
    }
    Elf64_Ehdr header;
    require(size >= sizeof header, "a whole header");
    std::memcpy(&header, data, sizeof header);
    require(!std::memcmp(header.e_ident, ELFMAG, SELFMAG), "ELF");
    require(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB,
            "64 bits, little endian");
    require(header.e_shoff <= size, "section headers within the file");
    require(header.e_shnum * std::uint64_t{header.e_shentsize} <= size - header.e_shoff,
            "all of them");
    return 0;
}
