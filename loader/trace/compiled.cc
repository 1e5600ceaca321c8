// SPDX-License-Identifier: GPL-2.0
#include "trace/compiled.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "object/compile.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostKept = 256;  // files
constexpr const char* kWithoutClang =
    "make it where clang is: probeload trace ... --btf VMLINUX --emit FILE.bpf.o, and here: "
    "probeload attach FILE.bpf.o";

// FNV-1a: it only finds the file, whose text is compared.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : text)
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return hash;
}

bool is_ours(const fs::path& directory) {
    struct stat status = {};
    return lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & 022) == 0;
}

// What may change a folder's name decides what is in it: root and we may.
bool is_safe_parent(const fs::path& directory) {
    struct stat status = {};
    if (stat(directory.c_str(), &status) != 0) return false;
    const bool others_write = (status.st_mode & 022) != 0 && (status.st_mode & S_ISVTX) == 0;
    return (status.st_uid == 0 || status.st_uid == geteuid()) && !others_write;
}

bool has_safe_parents(const fs::path& directory) {
    for (fs::path one = directory.parent_path();; one = one.parent_path()) {
        if (!is_safe_parent(one)) return false;
        if (one == one.root_path()) return true;
    }
}

// As the specification of these folders has it: what is no absolute path is none.
std::optional<fs::path> absolute_path_in(const char* variable) {
    const char* const value = std::getenv(variable);
    if (!value || value[0] != '/') return std::nullopt;
    return value;
}

// With the process's id behind them while they are written.
bool is_kept_file(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    const std::size_t end = name.find(".bpf.");
    if (end != 16 || name.find_first_not_of("0123456789abcdef") != end) return false;
    return name.compare(end, 6, ".bpf.o") == 0 || name.compare(end, 6, ".bpf.c") == 0;
}

bool holds(const fs::path& file, const std::string& text) {
    std::ifstream stream(file, std::ios::binary);
    return stream && std::string(std::istreambuf_iterator<char>(stream), {}) == text;
}

void write_file(const fs::path& file, const std::string& text) {
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    if (!stream.flush()) fail(ExitCode::kFailure, "{}: cannot be written", file.string());
}

// The oldest go.
void make_room(const fs::path& cache) {
    std::vector<fs::directory_entry> files;
    std::error_code error;
    std::ranges::copy_if(fs::directory_iterator(cache, error), std::back_inserter(files),
                         is_kept_file);
    if (files.size() < kMostKept) return;
    std::ranges::sort(files, {}, [&](const auto& file) { return file.last_write_time(error); });
    for (std::size_t i = 0; i < files.size() - kMostKept / 2; ++i)
        fs::remove(files[i], error);
}

// The text comes last: where it is, the object is whole. A cache that takes nothing is no error.
void keep(const fs::path& cache, const fs::path& object, const std::string& text,
          const fs::path& kept) {
    make_room(cache);
    const std::string own = fmt::format(".{}", getpid());
    std::error_code error;
    const auto put = [&](const fs::path& from, const fs::path& to) {
        if (!error) fs::rename(from, to, error);
    };
    fs::copy_file(object, kept.string() + own, fs::copy_options::overwrite_existing, error);
    put(kept.string() + own, kept);
    if (error) return;
    const fs::path source = fs::path(kept).replace_extension(".c");
    std::ofstream(source.string() + own, std::ios::binary) << text;
    put(source.string() + own, source);
}

}  // namespace

std::optional<fs::path> object_cache() {
    const std::optional<fs::path> cache = absolute_path_in("XDG_CACHE_HOME");
    const std::optional<fs::path> home = absolute_path_in("HOME");
    if (!cache && !home) return std::nullopt;
    const fs::path directory = (cache ? *cache : *home / ".cache") / "djprobe";
    std::error_code error;
    if (fs::create_directories(directory, error))
        fs::permissions(directory, fs::perms::owner_all, error);
    if (error || !is_ours(directory)) return std::nullopt;
    // By its real path, in which no link can be turned elsewhere.
    fs::path real = fs::canonical(directory, error);
    if (error || !has_safe_parents(real)) return std::nullopt;
    return real;
}

fs::path compiled(const std::string& source, const std::string& header,
                  const std::vector<std::string>& flags, TempDir& directory) {
    const std::optional<fs::path> cache = object_cache();
    const std::string text = fmt::format("// {}\n{}{}", fmt::join(flags, " "), header, source);
    fs::path kept = cache ? *cache / fmt::format("{:016x}.bpf.o", hash_of(text)) : fs::path();
    if (cache && fs::exists(kept) && holds(fs::path(kept).replace_extension(".c"), text))
        return kept;
    const fs::path file = directory.file("trace.bpf.c");
    write_file(file, source);
    write_file(directory.file("vmlinux.h"), header);
    fs::path object =
        compile(file, "the trace's program", directory.path(), directory, flags, kWithoutClang);
    if (cache) keep(*cache, object, text, kept);
    return object;
}

}  // namespace djprobe::loader
