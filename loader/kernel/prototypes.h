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
#include <vector>

namespace djprobe::loader {

/// A declaration in C: type and name ("int (*compare)(const void *, const void *)"). Throws
/// Error(kBadFile) where the BTF is inconsistent.
std::string c_declaration(const btf& types, std::uint32_t type_id, const std::string& name);

/// One parameter of a function.
struct Parameter {
    std::string name;   ///< "" where it has none
    std::uint8_t size;  ///< in bytes; 0: it is no number or pointer, or "..."
    bool is_signed;
};

/// The functions of a kernel and of its modules. A BTF is read when the first function of its
/// module is asked for; one that cannot be read has none.
class Prototypes {
  public:
    explicit Prototypes(std::filesystem::path directory = "/sys/kernel/btf");

    /// "ssize_t vfs_read(struct file *file, ...)", or none: BTF leaves out what the compiler has
    /// changed, and where functions of one name differ it is not known which of them is meant.
    std::optional<std::string> find(std::string_view module, std::string_view function);
    /// Its parameters, or none in the same cases.
    std::optional<std::vector<Parameter>> parameters(std::string_view module,
                                                     std::string_view function);

  private:
    struct FreeBtf {
        void operator()(btf* types) const { btf__free(types); }
    };
    struct Table {
        std::unique_ptr<btf, FreeBtf> types;
        std::unordered_map<std::string_view, std::uint32_t> functions;  ///< 0: several
    };

    Table& table(const std::string& module);
    /// The type of its prototype in the table, 0: none.
    static std::uint32_t prototype(const Table& known, std::string_view function);

    std::filesystem::path directory_;
    std::unordered_map<std::string, Table> tables_;  ///< the kernel's has no name
};

}  // namespace djprobe::loader
