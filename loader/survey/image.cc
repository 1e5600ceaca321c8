// SPDX-License-Identifier: GPL-2.0
#include "survey/image.h"

#include <fmt/core.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/regular_file.h"
#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

[[noreturn]] void bad_file(const std::string& path, const std::string& what) {
    fail(ExitCode::kBadFile, "{}: {}", path, what);
}

constexpr std::uint64_t kKernelSpace = 0xffff'8000'0000'0000;
struct OpenElf {
    UniqueFd fd;
    ElfHandle elf;
};

OpenElf open_elf(const std::string& path) {
    elf_version(EV_CURRENT);
    struct stat status = {};
    OpenElf file{open_regular(path, status), nullptr};
    file.elf.reset(elf_begin(file.fd.get(), ELF_C_READ, nullptr));
    if (!file.elf || elf_kind(file.elf.get()) != ELF_K_ELF)
        bad_file(path, "not an ELF file (a bzImage must be unpacked by extract-vmlinux first)");
    GElf_Ehdr header;
    if (!gelf_getehdr(file.elf.get(), &header) || header.e_machine != EM_X86_64 ||
        gelf_getclass(file.elf.get()) != ELFCLASS64)
        bad_file(path, "not an x86-64 kernel");
    return file;
}

/// The ELF's own symbols, as text in the format of /proc/kallsyms.
std::string symbol_table(Elf* elf) {
    std::string text;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB) continue;
        Elf_Data* data = elf_getdata(section, nullptr);
        const auto count = data ? data->d_size / sizeof(Elf64_Sym) : 0;
        for (std::size_t i = 0; i < count; ++i) {
            GElf_Sym symbol;
            if (!gelf_getsym(data, static_cast<int>(i), &symbol)) continue;
            const int type = GELF_ST_TYPE(symbol.st_info);
            const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (!name || !*name || type == STT_FILE || type == STT_SECTION) continue;
            GElf_Shdr home{};
            Elf_Scn* const where = elf_getscn(elf, symbol.st_shndx);
            const bool code = where && gelf_getshdr(where, &home) && home.sh_flags & SHF_EXECINSTR;
            text += fmt::format("{:016x} {} {}\n", symbol.st_value, code ? 't' : 'd', name);
        }
    }
    return text;
}

Kallsyms read_symbols(const std::string& path) {
    try {
        return Kallsyms::read(path.c_str());
    } catch (const std::system_error& error) {
        bad_file(path, error.code().message());
    }
}

/// The same symbols, all moved by `delta`.
Kallsyms moved(const Kallsyms& symbols, std::uint64_t delta) {
    std::string text;
    for (const Symbol& symbol : symbols.symbols())
        if (symbol.module.empty() && symbol.address >= 0xffffffff80000000)
            text +=
                fmt::format("{:016x} {} {}\n", symbol.address + delta, symbol.type, symbol.name);
    return Kallsyms::parse(std::move(text));
}

/// What a segment or section holds.
std::vector<std::uint8_t> contents(Elf* elf, const std::string& path, std::uint64_t offset,
                                   std::uint64_t length) {
    std::size_t size = 0;
    const char* const raw = elf_rawfile(elf, &size);
    if (!raw || offset > size || length > size - offset) bad_file(path, "is cut short");
    return {raw + offset, raw + offset + length};
}

}  // namespace

KernelImage KernelImage::from_file(const std::string& vmlinux, const std::string& symbols) {
    const OpenElf file = open_elf(vmlinux);
    KernelImage image;
    image.memory_ = vmlinux;
    image.names_ = symbols.empty() ? vmlinux : symbols;
    image.read_segments(file.elf.get());
    image.read_sections(file.elf.get());
    image.symbols_ =
        symbols.empty() ? Kallsyms::parse(symbol_table(file.elf.get())) : read_symbols(symbols);
    image.place_symbols();
    if (!symbols.empty()) image.check_banner();
    return image;
}

void KernelImage::read_segments(Elf* elf) {
    std::size_t count = 0;
    elf_getphdrnum(elf, &count);
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, static_cast<int>(i), &segment) && segment.p_type == PT_LOAD)
            parts_.push_back(
                {"", segment.p_vaddr, contents(elf, memory_, segment.p_offset, segment.p_filesz)});
    }
    if (parts_.empty() || parts_.front().address < kKernelSpace)
        bad_file(memory_, "no kernel: its first segment is not at a kernel's address");
}

void KernelImage::read_sections(Elf* elf) {
    std::size_t names = 0;
    elf_getshdrstrndx(elf, &names);
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS) continue;
        const char* name = elf_strptr(elf, names, header.sh_name);
        // The core text is read by its symbols; other code may branch into it.
        const bool outer_code =
            header.sh_flags & SHF_EXECINSTR && name && std::string_view(name) != ".text";
        if (name && (outer_code || std::string_view(name) == ".altinstructions"))
            sections_.push_back(
                {name, header.sh_addr, contents(elf, memory_, header.sh_offset, header.sh_size)});
    }
}

void KernelImage::place_symbols() {
    if (symbols_.symbols().empty())
        bad_file(
            names_,
            "no symbols: give a copy of the kernel's /proc/kallsyms (made by root) with --symbols");
    const std::uint64_t named = require("_stext");
    if (named == 0) bad_file(names_, "all addresses are 0: it must be read as root");
    // The first segment begins with the text.
    symbols_ = moved(symbols_, parts_.front().address - named);
}

void KernelImage::check_banner() const {
    constexpr std::string_view kBegin = "Linux version ";
    const std::uint64_t banner = require("linux_banner");
    if (!std::ranges::equal(bytes(banner, banner + kBegin.size()), kBegin))
        bad_file(names_, fmt::format("not of the kernel image {}: give the /proc/kallsyms of the "
                                     "same release",
                                     memory_));
}

std::span<const std::uint8_t> KernelImage::bytes(std::uint64_t begin, std::uint64_t end) const {
    for (const Part& part : parts_)
        if (begin <= end && begin >= part.address && end <= part.address + part.bytes.size())
            return {part.bytes.data() + (begin - part.address), end - begin};
    return {};
}

std::span<const std::uint8_t> KernelImage::bytes_up_to(std::uint64_t begin,
                                                       std::uint64_t end) const {
    for (const Part& part : parts_) {
        const std::uint64_t part_end = part.address + part.bytes.size();
        if (begin >= part.address && begin < part_end) return bytes(begin, std::min(end, part_end));
    }
    return {};
}

std::span<const std::uint8_t> KernelImage::section(const std::string& name,
                                                   std::uint64_t& address) const {
    for (const Part& part : sections_) {
        if (part.name != name) continue;
        address = part.address;
        return part.bytes;
    }
    return {};
}

std::optional<std::uint64_t> KernelImage::address_of(std::string_view name) const {
    for (const Symbol& symbol : symbols_.symbols())
        if (symbol.name == name && symbol.module.empty()) return symbol.address;
    return std::nullopt;
}

std::uint64_t KernelImage::require(std::string_view name) const {
    if (const auto address = address_of(name)) return *address;
    if (live_)
        fail(ExitCode::kFailure,
             "{}: no symbol {} (CONFIG_KALLSYMS_ALL): explain and survey take an image instead, "
             "with "
             "--vmlinux",
             names_, name);
    bad_file(names_, fmt::format("no symbol {}: give the /proc/kallsyms of the same release with "
                                 "--symbols",
                                 name));
}

void KernelImage::reject(const std::string& why) const {
    if (live_) fail(ExitCode::kFailure, "{}: {}: {}", memory_, why, kImageInstead);
    bad_file(memory_, fmt::format("{}: give the whole vmlinux, and with --symbols the "
                                  "/proc/kallsyms of the same release",
                                  why));
}

}  // namespace djprobe::loader
