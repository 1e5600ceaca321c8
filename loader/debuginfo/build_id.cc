// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/build_id.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t padded(std::size_t size) {
    return (size + 3) & ~std::size_t{3};
}

}  // namespace

BuildId find_build_id(const std::string& notes) {
    Elf64_Nhdr head;
    for (std::size_t at = 0; at + sizeof head <= notes.size();) {
        std::memcpy(&head, notes.data() + at, sizeof head);
        const std::size_t name = at + sizeof head, value = name + padded(head.n_namesz);
        at = value + padded(head.n_descsz);
        if (value + head.n_descsz > notes.size()) break;
        const bool gnu = notes.compare(name, head.n_namesz, std::string("GNU\0", 4)) == 0;
        if (gnu && head.n_type == NT_GNU_BUILD_ID)
            return {notes.begin() + static_cast<std::ptrdiff_t>(value),
                    notes.begin() + static_cast<std::ptrdiff_t>(value + head.n_descsz)};
    }
    return {};
}

BuildId running_build_id(const std::string& module) {
    const std::string path = module.empty()
                                 ? "/sys/kernel/notes"
                                 : fmt::format("/sys/module/{}/notes/.note.gnu.build-id", module);
    std::ifstream file(path, std::ios::binary);
    return find_build_id({std::istreambuf_iterator<char>(file), {}});
}

BuildId file_build_id(const std::string& path) {
    elf_version(EV_CURRENT);
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return {};
    Elf* const elf = elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr);
    const void* id = nullptr;
    const ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;
    BuildId found;
    if (size > 0)
        found.assign(static_cast<const std::uint8_t*>(id),
                     static_cast<const std::uint8_t*>(id) + size);
    elf_end(elf);
    return found;
}

}  // namespace djprobe::loader
