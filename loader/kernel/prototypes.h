// SPDX-License-Identifier: GPL-2.0
// What the kernel's BTF says of functions: their prototypes in C.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace djprobe::loader {

/// A declaration in C: type and name ("int (*compare)(const void *, const void *)"). Throws
/// Error(kBadFile) where the BTF is inconsistent.
std::string c_declaration(const btf& types, std::uint32_t type_id, const std::string& name);

/// The functions of a kernel and of its modules. A BTF is read when the first function of its
/// module is asked for; one that cannot be read has none.
class Prototypes {
  public:
    explicit Prototypes(std::filesystem::path directory = "/sys/kernel/btf");

    /// "ssize_t vfs_read(struct file *file, ...)", or none: BTF leaves out what the compiler has
    /// changed, and where functions of one name differ it is not known which of them is meant.
    std::optional<std::string> find(std::string_view module, std::string_view function);

  private:
    struct FreeBtf {
        void operator()(btf* types) const { btf__free(types); }
    };
    struct Table {
        std::unique_ptr<btf, FreeBtf> types;
        std::unordered_map<std::string_view, std::uint32_t> functions;  ///< 0: several
    };

    Table& table(const std::string& module);

    std::filesystem::path directory_;
    std::unordered_map<std::string, Table> tables_;  ///< the kernel's has no name
};

}  // namespace djprobe::loader
