// SPDX-License-Identifier: GPL-2.0
#include "support/elf_text.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace djprobe::test {

std::vector<Bytes> text_of(const char* path) {
    elf_version(EV_CURRENT);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    Elf* const elf = file < 0 ? nullptr : elf_begin(file, ELF_C_READ_MMAP, nullptr);
    size_t size = 0;
    const char* const raw = elf ? elf_rawfile(elf, &size) : nullptr;
    if (!raw) throw std::runtime_error(std::string(path) + ": cannot be read as ELF");
    std::vector<Bytes> all;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_PROGBITS &&
            header.sh_flags & SHF_EXECINSTR && header.sh_offset <= size &&
            header.sh_size <= size - header.sh_offset)
            all.emplace_back(raw + header.sh_offset, raw + header.sh_offset + header.sh_size);
    }
    elf_end(elf);
    close(file);
    return all;
}

}  // namespace djprobe::test
