// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/inlined_index.h"

#include <dwarf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "base/cache_folder.h"
#include "base/progress.h"
#include "debuginfo/build_id.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

// The first line of a file that is kept: another one is none of ours.
constexpr std::string_view kHead = "probeload inlined functions 2\n";
// Its last line. Where it is missing, a crash has cut the file.
constexpr std::string_view kTail = "\nend\n";
constexpr std::size_t kMostKept = 8;  // kernels and modules
constexpr const char* kEnd = ".inlined";

using Found = std::map<std::string, std::vector<std::uint64_t>, std::less<>>;

void walk(Dwarf_Die& of, Found& found) {
    Dwarf_Die child;
    for (int more = dwarf_child(&of, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        const bool is_inlined = tag == DW_TAG_inlined_subroutine;
        if (!is_inlined && tag != DW_TAG_subprogram && tag != DW_TAG_lexical_block) continue;
        const char* const name = is_inlined ? dwarf_diename(&child) : nullptr;
        if (name) found[name].push_back(dwarf_dieoffset(&child));
        walk(child, found);
    }
}

std::string text_of(const Found& found) {
    std::string text(kHead);
    for (const auto& [name, offsets] : found) {
        text += name;
        for (const std::uint64_t offset : offsets)
            fmt::format_to(std::back_inserter(text), " {:x}", offset);
        text += '\n';
    }
    return text;
}

// Where there is no cache, or the file has no build ID, nothing is kept.
std::optional<fs::path> kept_file(const DwarfFile& debug) {
    const auto folder = cache_folder();
    const BuildId id = file_build_id(debug.path());
    if (!folder || id.empty()) return std::nullopt;
    return *folder / fmt::format("{:02x}{}", fmt::join(id, ""), kEnd);
}

void make_room(const fs::path& folder) {
    std::vector<fs::directory_entry> kept;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == kEnd) kept.push_back(entry);
    if (kept.size() < kMostKept) return;
    std::ranges::sort(kept, {}, [&](const auto& entry) { return entry.last_write_time(error); });
    for (std::size_t i = 0; i + kMostKept <= kept.size(); ++i)
        fs::remove(kept[i], error);
}

// It is whole where its name is. A cache that takes nothing is no error.
void keep(const fs::path& file, const std::string& text) {
    make_room(file.parent_path());
    const std::string own = fmt::format("{}.{}", file.string(), getpid());
    std::error_code error;
    {
        std::ofstream stream(own, std::ios::binary);
        if (!(stream << text).flush()) {
            fs::remove(own, error);
            return;
        }
    }
    fs::rename(own, file, error);
}

}  // namespace

InlinedIndex InlinedIndex::of(const DwarfFile& debug) {
    const auto file = kept_file(debug);
    if (file) {
        std::ifstream stream(*file, std::ios::binary);
        std::ostringstream whole;
        whole << stream.rdbuf();
        std::string text = std::move(whole).str();
        if (text.starts_with(kHead) && text.ends_with(kTail)) {
            text.erase(text.size() - kTail.size() + 1);
            return InlinedIndex(std::move(text));
        }
    }
    InlinedIndex index = made(debug);
    if (file) keep(*file, index.text_ + std::string(kTail.substr(1)));
    return index;
}

InlinedIndex InlinedIndex::made(const DwarfFile& debug) {
    Found found;
    std::vector<Dwarf_Die> units = debug.units();
    Progress progress("reading debug information", units.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
        walk(units[i], found);
        progress.at(i + 1);
    }
    return InlinedIndex(text_of(found));
}

std::vector<std::uint64_t> InlinedIndex::find(std::string_view name) const {
    const std::string begin = fmt::format("\n{} ", name);
    const std::size_t at = text_.find(begin);
    if (at == text_.npos) return {};
    const char* from = text_.data() + at + begin.size();
    const char* const end = text_.data() + text_.find('\n', at + 1);
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t offset = 0; from < end; ++from) {
        from = std::from_chars(from, end, offset, 16).ptr;
        offsets.push_back(offset);
    }
    return offsets;
}

std::vector<std::string> InlinedIndex::names() const {
    std::vector<std::string> names;
    for (std::size_t at = kHead.size(); at < text_.size(); at = text_.find('\n', at) + 1)
        names.push_back(text_.substr(at, text_.find(' ', at) - at));
    return names;
}

}  // namespace djprobe::loader
