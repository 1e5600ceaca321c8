// SPDX-License-Identifier: GPL-2.0
#include "kernel/kept_names.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <system_error>

#include "base/write.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "djprobe-names";

}  // namespace

UniqueFd keep_names(const SiteNames& names) {
    if (names.empty()) return {};
    UniqueFd fd(memfd_create(kName, MFD_CLOEXEC));
    if (!fd) return {};
    std::string text;
    for (const auto& [address, name] : names)
        text += fmt::format("{:#x} {}\n", address, name);
    for (std::string_view rest = text; !rest.empty();) {
        const ssize_t written = write_some(fd.get(), rest);
        if (written <= 0) return {};
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    return fd;
}

SiteNames kept_names(pid_t pid, const fs::path& proc) {
    SiteNames names;
    std::error_code error;
    const std::string wanted = fmt::format("/memfd:{} (deleted)", kName);
    const fs::path files = proc / std::to_string(pid) / "fd";
    for (fs::directory_iterator file(files, error), end; !error && file != end;
         file.increment(error)) {
        std::error_code gone;
        if (fs::read_symlink(file->path(), gone) != wanted) continue;
        std::ifstream lines(file->path());
        std::string name;
        for (std::uint64_t address = 0; lines >> std::hex >> address >> name;)
            names[address] = name;
    }
    return names;
}

}  // namespace djprobe::loader
