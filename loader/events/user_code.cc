// SPDX-License-Identifier: GPL-2.0
#include "events/user_code.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <gelf.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
};

std::string build_id_in(Elf_Data* notes) {
    GElf_Nhdr head;
    std::size_t name = 0, value = 0;
    for (std::size_t at = 0; (at = gelf_getnote(notes, at, &head, &name, &value)) != 0;) {
        const auto* const bytes = static_cast<const char*>(notes->d_buf);
        if (head.n_type == NT_GNU_BUILD_ID &&
            std::string_view(bytes + name, head.n_namesz) == std::string_view("GNU", sizeof "GNU"))
            return {bytes + value, head.n_descsz};
    }
    return "";
}

void add_functions(Elf* elf, const GElf_Shdr& header, Elf_Data* symbols,
                   std::vector<CodeFile::Function>& functions) {
    if (header.sh_entsize == 0) return;
    for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
        GElf_Sym symbol;
        if (!gelf_getsym(symbols, static_cast<int>(i), &symbol)) return;
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
        if (const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name))
            functions.push_back({symbol.st_value, symbol.st_size, name});
    }
}

std::string hexadecimal(const std::string& bytes) {
    std::string text;
    for (const char byte : bytes)
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

bool is_number(const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return isdigit(c); });
}

std::vector<std::string> all_processes() {
    std::vector<std::string> numbers;
    std::error_code error;
    for (fs::directory_iterator at("/proc", error); !error && at != fs::directory_iterator();
         at.increment(error))
        if (is_number(at->path().filename())) numbers.push_back(at->path().filename());
    return numbers;
}

}  // namespace

CodeFile::CodeFile(const std::string& path) {
    elf_version(EV_CURRENT);
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return;
    const std::unique_ptr<Elf, EndElf> elf(elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr));
    std::size_t count = 0;
    if (!elf || elf_kind(elf.get()) != ELF_K_ELF || elf_getphdrnum(elf.get(), &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf.get(), static_cast<int>(i), &segment)) continue;
        if (segment.p_type == PT_LOAD)
            segments_.push_back({segment.p_offset, segment.p_vaddr, segment.p_filesz});
        if (segment.p_type != PT_NOTE || !build_id_.empty()) continue;
        if (Elf_Data* const notes =
                elf_getdata_rawchunk(elf.get(), static_cast<std::int64_t>(segment.p_offset),
                                     segment.p_filesz, ELF_T_NHDR))
            build_id_ = build_id_in(notes);
    }
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section));) {
        GElf_Shdr header;
        Elf_Data* const data = elf_getdata(section, nullptr);
        if (data && gelf_getshdr(section, &header) &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            add_functions(elf.get(), header, data, functions_);
    }
    std::ranges::stable_sort(functions_, {}, &Function::address);
}

const CodeFile::Function* CodeFile::find(std::uint64_t offset, std::uint64_t& distance) const {
    const auto segment = std::ranges::find_if(segments_, [offset](const Segment& one) {
        return offset >= one.offset && offset - one.offset < one.size;
    });
    if (segment == segments_.end()) return nullptr;
    const std::uint64_t address = offset - segment->offset + segment->address;
    const auto behind = std::ranges::upper_bound(functions_, address, {}, &Function::address);
    if (behind == functions_.begin()) return nullptr;
    const Function& function = *std::prev(behind);
    distance = address - function.address;
    return distance < std::max<std::uint64_t>(function.size, 1) ? &function : nullptr;
}

// "7f00-7f80 r-xp 00028000 fe:01 1234   /usr/lib/libc.so.6"
const std::vector<UserCode::Mapping>& UserCode::mappings_of(std::uint32_t process) {
    const auto [known, is_new] = processes_.try_emplace(process);
    if (!is_new) return known->second;
    std::ifstream maps(fmt::format("/proc/{}/maps", process));
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        Mapping mapping{};
        std::string rights, device, inode;
        char dash = 0;
        words >> std::hex >> mapping.begin >> dash >> mapping.end >> rights >> mapping.offset >>
            device >> inode >> std::ws;
        std::getline(words, mapping.path);
        if (rights.find('x') != rights.npos && mapping.path.starts_with('/'))
            known->second.push_back(mapping);
    }
    return known->second;
}

const CodeFile& UserCode::file(const std::string& real_path) {
    std::unique_ptr<CodeFile>& file = files_[real_path];
    if (!file) file = std::make_unique<CodeFile>(real_path);
    return *file;
}

CodePlace UserCode::find(std::uint32_t process, std::uint64_t address) {
    if (process == 0) return {};
    const auto& mappings = mappings_of(process);
    const auto mapping = std::ranges::find_if(mappings, [address](const Mapping& one) {
        return address >= one.begin && address < one.end;
    });
    if (mapping == mappings.end()) return {};
    // A container has files of its own; the process may have ended, or may run in none.
    const std::string inside = fmt::format("/proc/{}/root{}", process, mapping->path);
    std::error_code error;
    const bool own = fs::equivalent(inside, mapping->path, error) || error;
    const CodeFile& code = file(own ? mapping->path : inside);
    CodePlace place{mapping->path, code.build_id(), address - mapping->begin + mapping->offset};
    if (const auto* const function = code.find(place.offset, place.distance))
        place.function = function->name;
    return place;
}

void UserCode::look_for_builds() {
    builds_.emplace();
    std::set<std::string> paths;
    for (const std::string& number : all_processes())
        for (const Mapping& mapping : mappings_of(static_cast<std::uint32_t>(std::stoul(number))))
            paths.insert(mapping.path);
    for (const std::string& path : paths)
        builds_->emplace(file(path).build_id(), path);
}

CodePlace UserCode::find(const std::string& build_id, std::uint64_t offset) {
    if (!builds_) look_for_builds();
    CodePlace place{"", build_id, offset};
    // The kernel has room for 20 bytes, and a build's name may be shorter.
    const auto same = std::ranges::find_if(*builds_, [&](const auto& known) {
        return !known.first.empty() && build_id.starts_with(known.first);
    });
    if (same == builds_->end()) return place;
    place.path = same->second;
    if (const auto* const function = file(same->second).find(offset, place.distance))
        place.function = function->name;
    return place;
}

std::string describe(const CodePlace& place) {
    const std::string build =
        place.build_id.empty() ? "" : "build-id " + hexadecimal(place.build_id);
    if (!place.function.empty())
        return fmt::format("{}+{:#x} ({}{}{})", place.function, place.distance, place.path,
                           build.empty() ? "" : " ", build);
    const std::string at = fmt::format("{}+{:#x}", place.path, place.offset);
    return build.empty() ? at : fmt::format("{} ({})", at, build);
}

}  // namespace djprobe::loader
