// SPDX-License-Identifier: GPL-2.0
// Where the kernel itself keeps how long a module's text is: in its struct module, which lies in
// the module's section .gnu.linkonce.this_module. What it looks like says the kernel's BTF.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace djprobe::loader {

/// Offsets within struct module.
struct ModuleStruct {
    std::size_t base;  ///< of the text's address, 64 bits
    std::size_t size;  ///< of its length, whole pages, 32 bits

    /// What a module's struct, or its first bytes, says of a text at `begin`. Nothing where it does
    /// not speak of that text.
    [[nodiscard]] std::optional<std::uint64_t> text_size(std::span<const std::uint8_t> bytes,
                                                         std::uint64_t begin) const;
};

/// Nothing where these types do not have it. Throws Error(kBadFile) where they are inconsistent.
std::optional<ModuleStruct> find_module_struct(const btf& types);

/// The running kernel's. Nothing without BTF.
std::optional<ModuleStruct> running_module_struct();

}  // namespace djprobe::loader
