// SPDX-License-Identifier: GPL-2.0
#include "object/from_stdin.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/say.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20;

std::string read_all() {
    std::string text;
    std::size_t used = 0;
    for (;;) {
        text.resize(std::max<std::size_t>(used * 2, 64 << 10));
        const ssize_t got = read(STDIN_FILENO, text.data() + used, text.size() - used);
        if (got < 0 && errno == EINTR)
            fail(ExitCode::kFailure, "stdin: stopped before the program was read");
        if (got < 0) fail(ExitCode::kBadFile, "stdin: {}", std::strerror(errno));
        if (got == 0) break;
        used += static_cast<std::size_t>(got);
        if (used > kLargest)
            fail(ExitCode::kBadFile, "stdin: more than {} MiB: no BPF program is as large",
                 kLargest >> 20);
    }
    text.resize(used);
    return text;
}

}  // namespace

bool is_stdin(const std::filesystem::path& file) {
    return file == "-" || file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0";
}

std::filesystem::path save_stdin(TempDir& directory) {
    if (isatty(STDIN_FILENO)) say("probeload: reading the program's source, up to Ctrl-D\n");
    const std::string text = read_all();
    if (text.empty())
        fail(ExitCode::kBadFile, "stdin: empty: give a program's source, or an object (.bpf.o)");
    const bool is_object = text.starts_with(std::string_view(ELFMAG, SELFMAG));
    std::filesystem::path path = directory.file(is_object ? "stdin.bpf.o" : "stdin.bpf.c");
    std::ofstream file(path, std::ios::binary);
    if (!is_object) file << "#line 1 \"<stdin>\"\n";
    file << text;
    if (!file.flush()) fail(ExitCode::kFailure, "{}: {}", path.string(), std::strerror(errno));
    return path;
}

}  // namespace djprobe::loader
