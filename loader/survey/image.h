// SPDX-License-Identifier: GPL-2.0
// A kernel's memory as the survey reads it: an ELF file on disk, or the running kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kallsyms.h"
#include "survey/loaded_module.h"
#include "survey/module_struct.h"

struct Elf;

namespace djprobe::loader {

/// What a user can do where the running kernel cannot be read.
inline constexpr const char* kImageInstead =
    "explain and survey take an image instead, with --vmlinux and a copy of /proc/kallsyms with "
    "--symbols";

/// Loaded parts of a kernel by virtual address, with its symbols at the same addresses.
class KernelImage {
  public:
    /// An uncompressed vmlinux. `symbols` in /proc/kallsyms' format; empty: the ELF's own symbol
    /// table. Symbols of a kernel that KASLR has moved are moved back. Throws Error(kBadFile).
    static KernelImage from_file(const std::string& vmlinux, const std::string& symbols);

    /// The running kernel, with its symbols, through /proc/kcore. Needs root. Throws Error.
    static KernelImage from_running_kernel(const Kallsyms& symbols);

    /// The same for the text and the tables of one of the running kernel's modules, whose symbols
    /// are known already; tells where its text ends, by what its struct says, where that is known.
    /// False when it has gone.
    [[nodiscard]] bool add(LoadedModule& module, const std::optional<ModuleStruct>& told);

    [[nodiscard]] const Kallsyms& symbols() const noexcept { return symbols_; }
    /// Live text: boot-time patching (alternatives, ftrace, retpolines) has been done. It is what
    /// it is without probes, djprobe's and the kernel's, as far as the loaded module tells that,
    /// and without tracers at the entries of functions.
    [[nodiscard]] bool is_live() const noexcept { return live_; }

    /// The bytes at [begin, end), or an empty span when not all of them are there.
    [[nodiscard]] std::span<const std::uint8_t> bytes(std::uint64_t begin, std::uint64_t end) const;
    /// The same, less what lies behind the last byte that a file holds (padding to a page).
    [[nodiscard]] std::span<const std::uint8_t> bytes_up_to(std::uint64_t begin,
                                                            std::uint64_t end) const;
    /// Contents of the section that lists what boot patches (an offline image only), or empty.
    [[nodiscard]] std::span<const std::uint8_t> section(const std::string& name,
                                                        std::uint64_t& address) const;
    /// Address of the symbol of that name, whatever its type.
    [[nodiscard]] std::optional<std::uint64_t> address_of(std::string_view name) const;
    /// The same of one that must be there. Throws Error where it is not.
    [[nodiscard]] std::uint64_t require(std::string_view name) const;
    /// Throws Error: this cannot be analysed, and why, with the file's name and what to do.
    [[noreturn]] void reject(const std::string& why) const;

  private:
    struct Part {
        std::string name;
        std::uint64_t address;
        std::vector<std::uint8_t> bytes;
    };

    void read_segments(Elf* elf);
    void read_sections(Elf* elf);
    /// Moves the symbols to where the image has its text.
    void place_symbols();
    /// Throws Error if the symbols are another kernel's: what they call the banner is none.
    void check_banner() const;
    void load_running_parts();

    std::string memory_ = "/proc/kcore";    ///< the file that holds the bytes
    std::string names_ = "/proc/kallsyms";  ///< the file that holds the symbols
    std::vector<Part> parts_;
    std::vector<Part> sections_;
    Kallsyms symbols_;
    bool live_ = false;
};

}  // namespace djprobe::loader
