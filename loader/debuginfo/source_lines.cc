// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/source_lines.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "debuginfo/attributes.h"
#include "kernel/live_modules.h"

namespace djprobe::loader {
namespace {

struct FreeScopes {
    void operator()(Dwarf_Die* scopes) const { std::free(scopes); }
};
using Scopes = std::unique_ptr<Dwarf_Die, FreeScopes>;

// The file at hand holds all: libdwfl is not to look for others.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                  GElf_Word, char**) {
    return -1;
}

int open_file(Dwfl_Module*, void** path, const char*, Dwarf_Addr, char** name, Elf**) {
    const int fd = open(static_cast<const char*>(*path), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) *name = strdup(static_cast<const char*>(*path));
    return fd;
}

// What the kernel does not keep has no file there: libdwfl leaves it out.
int place_section(Dwfl_Module*, void**, const char* module, Dwarf_Addr, const char* section,
                  GElf_Word, const GElf_Shdr*, Dwarf_Addr* address) {
    std::ifstream file(fmt::format("/sys/module/{}/sections/{}", module, section));
    if (!(file >> std::hex >> *address)) *address = ~Dwarf_Addr{0};
    return DWARF_CB_OK;
}

constexpr Dwfl_Callbacks kRunningCallbacks = {
    .find_elf = open_file,
    .find_debuginfo = no_debug_file,
    .section_address = place_section,
    .debuginfo_path = nullptr,
};

struct Place {
    const char* file;
    unsigned line;
};

// Where the inlined function is called.
Place call_of(Dwarf_Die& unit, Dwarf_Die& inlined) {
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const auto file = number_of(inlined, DW_AT_call_file);
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || file >= count) return {nullptr, 0};
    return {dwarf_filesrc(files, file, nullptr, nullptr),
            static_cast<unsigned>(number_of(inlined, DW_AT_call_line))};
}

Place line_of(Dwarf_Die& unit, Dwarf_Addr address) {
    Dwarf_Line* const line = dwarf_getsrc_die(&unit, address);
    int at = 0;
    if (!line || dwarf_lineno(line, &at) != 0) return {nullptr, 0};
    return {dwarf_linesrc(line, nullptr, nullptr), static_cast<unsigned>(at)};
}

// Of a unit's lines, which are sorted, the first one from an address on.
std::size_t first_line(Dwarf_Lines* lines, std::size_t count, Dwarf_Addr address) {
    std::size_t begin = 0;
    for (std::size_t end = count; begin < end;) {
        const std::size_t middle = begin + (end - begin) / 2;
        Dwarf_Addr at = 0;
        dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at);
        if (at < address)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

// The scopes that hold an address, the inlined functions among them.
std::pair<Scopes, std::size_t> scopes_of(Dwarf_Die& unit, Dwarf_Addr address) {
    Dwarf_Die* innermost = nullptr;
    if (dwarf_getscopes(&unit, address, &innermost) <= 0) return {};
    const Scopes owned(innermost);
    Dwarf_Die* all = nullptr;
    const int count = dwarf_getscopes_die(innermost, &all);
    return {Scopes(all), count > 0 ? static_cast<std::size_t>(count) : 0};
}

[[noreturn]] void fail_reading(const std::string& path) {
    fail(ExitCode::kBadFile, "{}: no debug information can be read from it: {}", path,
         dwfl_errmsg(-1));
}

}  // namespace

struct SourceLines::Session {
    std::string path;
    std::uint64_t moved = 0;  ///< how far KASLR has moved what the file describes
    Dwfl* files = nullptr;
    Dwfl_Module* file = nullptr;

    explicit Session(std::string name)
        : path(std::move(name)), files(dwfl_begin(&kRunningCallbacks)) {
        dwfl_report_begin(files);
    }
    void finish() {
        Dwarf_Addr bias;
        dwfl_report_end(files, nullptr, nullptr);
        if (!file || !dwfl_module_getdwarf(file, &bias)) fail_reading(path);
    }
    [[nodiscard]] std::optional<std::uint64_t> address_of(const char* symbol) const {
        for (int i = 0; i < dwfl_module_getsymtab(file); ++i) {
            GElf_Sym found;
            const char* const name = dwfl_module_getsym(file, i, &found, nullptr);
            if (name && std::strcmp(name, symbol) == 0) return found.st_value;
        }
        return std::nullopt;
    }
};

void SourceLines::End::operator()(Session* session) const {
    dwfl_end(session->files);
    delete session;
}

SourceLines SourceLines::of_kernel(const std::string& path, std::uint64_t text) {
    std::unique_ptr<Session, End> session(new Session(path));
    session->file = dwfl_report_elf(session->files, "kernel", path.c_str(), -1, 0, false);
    session->finish();
    const auto linked = session->address_of("_text");
    if (!linked) fail(ExitCode::kBadFile, "{}: has no symbol _text: it is no kernel", path);
    session->moved = text - *linked;
    return SourceLines(std::move(session));
}

SourceLines SourceLines::of_module(const std::string& path, const std::string& name) {
    std::unique_ptr<Session, End> session(new Session(path));
    for (const LiveModule& module : live_modules()) {
        if (module.name != name) continue;
        session->file = dwfl_report_module(session->files, name.c_str(), module.base,
                                           module.base + module.size);
        void** user = nullptr;
        dwfl_module_info(session->file, &user, nullptr, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
        *user = session->path.data();
    }
    session->finish();
    return SourceLines(std::move(session));
}

std::vector<SourceFrame> SourceLines::frames(std::uint64_t address) const {
    Dwarf_Addr bias = 0;
    const Dwarf_Addr linked = address - session_->moved;
    Dwarf_Die* const unit = dwfl_module_addrdie(session_->file, linked, &bias);
    if (!unit) return {};
    Place place = line_of(*unit, linked - bias);
    const auto [scopes, count] = scopes_of(*unit, linked - bias);
    std::vector<SourceFrame> frames;
    for (Dwarf_Die& scope : std::span(scopes.get(), count)) {
        const int tag = dwarf_tag(&scope);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        const char* const name = dwarf_diename(&scope);
        if (place.file && place.line) frames.push_back({name ? name : "", place.file, place.line});
        if (tag == DW_TAG_subprogram) break;
        place = call_of(*unit, scope);
    }
    return frames;
}

std::optional<SourceFrame> SourceLines::line(std::uint64_t address) const {
    Dwarf_Addr bias = 0;
    const Dwarf_Addr linked = address - session_->moved;
    Dwarf_Die* const unit = dwfl_module_addrdie(session_->file, linked, &bias);
    const Place place = unit ? line_of(*unit, linked - bias) : Place{nullptr, 0};
    if (!place.file || !place.line) return std::nullopt;
    return SourceFrame{"", place.file, place.line};
}

std::vector<Statement> SourceLines::statements(std::uint64_t address) const {
    Dwarf_Addr bias = 0;
    const Dwarf_Addr linked = address - session_->moved;
    Dwarf_Die* const unit = dwfl_module_addrdie(session_->file, linked, &bias);
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (!unit || dwarf_getsrclines(unit, &lines, &count) != 0) return {};
    std::vector<Statement> found;
    for (std::size_t i = first_line(lines, count, linked - bias); i < count; ++i) {
        Dwarf_Line* const line = dwarf_onesrcline(lines, i);
        Dwarf_Addr at = 0;
        if (dwarf_lineaddr(line, &at) != 0 || at != linked - bias) break;
        bool begins = false;
        int number = 0, column = 0;
        dwarf_linebeginstatement(line, &begins);
        dwarf_lineno(line, &number);
        dwarf_linecol(line, &column);
        const char* const file = dwarf_linesrc(line, nullptr, nullptr);
        if (begins && number && file)
            found.push_back({file, static_cast<unsigned>(number), static_cast<unsigned>(column)});
    }
    return found;
}

}  // namespace djprobe::loader
