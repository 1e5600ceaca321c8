// SPDX-License-Identifier: GPL-2.0
#include "trace/compiled.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/cache_folder.h"
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

// With the thread's number behind them while they are written.
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
    if (!stream.flush())
        fail(ExitCode::kFailure, "{}: cannot be written: {}", file.string(), std::strerror(errno));
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
    const std::string own = fmt::format(".{}", gettid());
    std::error_code error;
    const auto put = [&](const fs::path& from, const fs::path& to) {
        if (!error) fs::rename(from, to, error);
    };
    fs::copy_file(object, kept.string() + own, fs::copy_options::overwrite_existing, error);
    put(kept.string() + own, kept);
    const fs::path source = fs::path(kept).replace_extension(".c");
    if (!error && !(std::ofstream(source.string() + own, std::ios::binary) << text << std::flush))
        error = std::make_error_code(std::errc::no_space_on_device);
    put(source.string() + own, source);
    // A full disk has taken a part.
    for (const fs::path& part : {kept, source})
        fs::remove(part.string() + own, error);
}

}  // namespace

fs::path compiled(const std::string& source, const std::string& header,
                  const std::vector<std::string>& flags, TempDir& directory, Process process) {
    const std::optional<fs::path> cache = cache_folder();
    const std::string text = fmt::format("// {}\n{}{}", fmt::join(flags, " "), header, source);
    fs::path kept = cache ? *cache / fmt::format("{:016x}.bpf.o", hash_of(text)) : fs::path();
    if (cache && fs::exists(kept) && holds(fs::path(kept).replace_extension(".c"), text))
        return kept;
    const fs::path file = directory.file("trace.bpf.c");
    write_file(file, source);
    write_file(directory.file("vmlinux.h"), header);
    fs::path object = compile(file, "the trace's program", directory.path(), directory, flags,
                              kWithoutClang, process);
    if (cache) keep(*cache, object, text, kept);
    return object;
}

}  // namespace djprobe::loader
