// SPDX-License-Identifier: GPL-2.0
#include "doctor/module_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <memory>
#include <sstream>

#include "base/unique_fd.h"

namespace djprobe::loader::doctor {
namespace {

/// "updates/djprobe.ko", from the list that depmod writes.
std::string listed_in(const std::string& dependencies) {
    std::istringstream lines(dependencies);
    for (std::string line; std::getline(lines, line);) {
        std::string path = line.substr(0, line.find(':'));
        const std::string name = path.substr(path.rfind('/') + 1);
        if (name.starts_with("djprobe.ko")) return path;
    }
    return "";
}

/// DKMS compresses a module as the kernel's own are.
std::optional<std::string> unpacked(const std::filesystem::path& path) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return {};
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(dwelf_elf_begin(fd.get()), elf_end);
    std::size_t size = 0;
    const char* const raw = elf ? elf_rawfile(elf.get(), &size) : nullptr;
    if (!raw) return {};
    return std::string(raw, size);
}

}  // namespace

std::optional<ModuleFile> ModuleFile::find(const Machine& machine) {
    const std::string folder = fmt::format("/lib/modules/{}/", machine.release());
    const std::string listed = listed_in(machine.file(folder + "modules.dep").value_or(""));
    if (listed.empty()) return {};
    ModuleFile file{folder + listed, ""};
    auto content = machine.file(file.path);
    if (!content) return {};
    file.content = std::move(*content);
    if (!file.is_readable())
        if (auto module = unpacked(machine.at(file.path))) file.content = std::move(*module);
    return file;
}

bool ModuleFile::is_readable() const {
    return content.starts_with(
        "\x7f"
        "ELF");
}

std::string_view ModuleFile::info(std::string_view key) const {
    // Entries of .modinfo, each behind the last one's NUL.
    const std::string entry = fmt::format("{}{}=", '\0', key);
    const std::size_t at = content.find(entry);
    if (at == content.npos) return "";
    const std::string_view value = std::string_view(content).substr(at + entry.size());
    return value.substr(0, value.find('\0'));
}

}  // namespace djprobe::loader::doctor
