// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/kept_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/cache_folder.h"
#include "debuginfo/build_id.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

// Its last line. Where it is missing, a crash has cut the file.
constexpr std::string_view kTail = "\nend\n";
constexpr std::size_t kMostKept = 8;  // kernels and modules

// Where there is no cache, or the file has no build ID, nothing is kept.
std::optional<fs::path> kept_file(const DwarfFile& debug, const KeptKind& kind) {
    const auto folder = cache_folder();
    const BuildId id = file_build_id(debug.path());
    if (!folder || id.empty()) return std::nullopt;
    return *folder / fmt::format("{:02x}{}", fmt::join(id, ""), kind.extension);
}

void make_room(const fs::path& folder, const KeptKind& kind) {
    std::vector<fs::directory_entry> kept;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == kind.extension) kept.push_back(entry);
    if (kept.size() < kMostKept) return;
    std::ranges::sort(kept, {}, [&](const auto& entry) { return entry.last_write_time(error); });
    for (std::size_t i = 0; i + kMostKept <= kept.size(); ++i)
        fs::remove(kept[i], error);
}

// It is whole where its name is. A cache that takes nothing is no error.
void keep(const fs::path& file, const std::string& text) {
    const std::string own = fmt::format("{}.{}", file.string(), gettid());
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

std::optional<std::string> read(const fs::path& file, const KeptKind& kind) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream whole;
    whole << stream.rdbuf();
    std::string text = std::move(whole).str();
    if (!text.starts_with(kind.head) || !text.ends_with(kTail)) return std::nullopt;
    text.erase(text.size() - kTail.size() + 1);
    return text;
}

}  // namespace

std::string kept_text(const DwarfFile& debug, const KeptKind& kind,
                      const std::function<std::string()>& make) {
    const auto file = kept_file(debug, kind);
    if (!file) return make();
    if (auto kept = read(*file, kind)) return *std::move(kept);
    std::string text = make();
    make_room(file->parent_path(), kind);
    keep(*file, text + std::string(kTail.substr(1)));
    return text;
}

}  // namespace djprobe::loader
