// SPDX-License-Identifier: GPL-2.0
// A kernel's memory as the survey reads it: an ELF file on disk, or the running kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/kallsyms.h"
#include "survey/loaded_module.h"

namespace djprobe::loader {

/// Loaded parts of a kernel by virtual address, with its symbols at the same addresses.
class KernelImage {
  public:
    /// An uncompressed vmlinux. `symbols` in /proc/kallsyms' format; empty: the ELF's own symbol
    /// table. Symbols of a kernel that KASLR has moved are moved back. Throws std::runtime_error
    /// with one line that says what is wrong.
    static KernelImage from_file(const std::string& vmlinux, const std::string& symbols);

    /// The running kernel, through /proc/kcore and /proc/kallsyms. Needs root. Throws likewise.
    static KernelImage from_running_kernel();

    /// The same for the text and the tables of one of the running kernel's modules, whose symbols
    /// are known already; tells where its text ends. False when it has gone.
    [[nodiscard]] bool add(LoadedModule& module);

    [[nodiscard]] const Kallsyms& symbols() const noexcept { return symbols_; }
    /// Live text: boot-time patching (alternatives, ftrace, retpolines) has been done.
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

  private:
    struct Part {
        std::string name;
        std::uint64_t address;
        std::vector<std::uint8_t> bytes;
    };

    void load_running_parts();
    /// False if the symbols are another kernel's: what they call the banner is none.
    [[nodiscard]] bool has_banner() const;

    std::vector<Part> parts_;
    std::vector<Part> sections_;
    Kallsyms symbols_;
    bool live_ = false;
};

}  // namespace djprobe::loader
