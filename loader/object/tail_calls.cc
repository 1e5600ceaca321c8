// SPDX-License-Identifier: GPL-2.0
#include "object/tail_calls.h"

#include <gelf.h>

#include <memory>
#include <string_view>

#include "base/regular_file.h"

namespace djprobe::loader {
namespace {

// A view of the file; what is damaged has no part that can be read.
class Sections {
  public:
    explicit Sections(Elf* elf) : elf_(elf) { elf_getshdrstrndx(elf, &names_); }

    [[nodiscard]] Elf_Scn* find(std::string_view wanted) const {
        for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section;
             section = elf_nextscn(elf_, section)) {
            GElf_Shdr header;
            if (!gelf_getshdr(section, &header)) continue;
            const char* const name = elf_strptr(elf_, names_, header.sh_name);
            if (name && name == wanted) return section;
        }
        return nullptr;
    }

    // The name of a relocation's symbol where that is a function, or "".
    [[nodiscard]] std::string function_of(const GElf_Rel& relocation, Elf_Scn* symbols) const {
        GElf_Shdr header;
        GElf_Sym symbol;
        const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
        if (!symbols || !gelf_getshdr(symbols, &header) ||
            !gelf_getsym(elf_getdata(symbols, nullptr), index, &symbol) ||
            GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
            return "";
        const char* const name = elf_strptr(elf_, header.sh_link, symbol.st_name);
        return name ? name : "";
    }

  private:
    Elf* elf_;
    std::size_t names_ = 0;
};

}  // namespace

std::set<std::string> tail_called_programs(const std::filesystem::path& object) {
    struct stat status = {};
    const UniqueFd fd = open_regular(object, status);
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(
        elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr), elf_end);
    if (!elf) return {};
    const Sections sections(elf.get());
    Elf_Data* const relocations = elf_getdata(sections.find(".rel.maps"), nullptr);
    std::set<std::string> names;
    GElf_Rel relocation;
    for (int i = 0; relocations && gelf_getrel(relocations, i, &relocation); ++i) {
        const std::string name = sections.function_of(relocation, sections.find(".symtab"));
        if (!name.empty()) names.insert(name);
    }
    return names;
}

}  // namespace djprobe::loader
