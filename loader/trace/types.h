// SPDX-License-Identifier: GPL-2.0
// The kernel's types by BTF, and those that expressions make of them.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djprobe::loader {

/// Of a type in Types; 0 is void.
using TypeId = std::uint32_t;

struct Member {
    TypeId type;
    bool is_bitfield;
};

struct Argument {
    std::string name;
    TypeId type;
};

struct Function {
    std::string name;  ///< without its module
    std::vector<Argument> arguments;
    TypeId result = 0;
};

class Types {
  public:
    /// `kernel`: a vmlinux, or a BTF by itself; with a module its BTF stands beside it, or
    /// there is none, and so none of its functions. Throws Error(kBadFile).
    static Types read(const std::filesystem::path& kernel, const std::string& module);
    [[nodiscard]] const btf& all() const { return *made_; }
    /// Behind typedefs and qualifiers.
    [[nodiscard]] const btf_type& resolved(TypeId type) const;
    [[nodiscard]] bool is_pointer(TypeId type) const;
    [[nodiscard]] bool is_integer(TypeId type) const;  ///< also bool and enums
    [[nodiscard]] bool is_composite(TypeId type) const;
    [[nodiscard]] bool is_array(TypeId type) const;
    /// What a pointer points to, or an array holds.
    [[nodiscard]] TypeId target(TypeId type) const;
    [[nodiscard]] std::uint32_t elements(TypeId array) const;  ///< 0: as many as there are
    [[nodiscard]] std::uint32_t size(TypeId type) const;       ///< 0: it has none
    [[nodiscard]] bool is_signed(TypeId type) const;
    /// Whether what the type stands for is const.
    [[nodiscard]] bool is_const(TypeId type) const;

    /// Without its own const and volatile.
    [[nodiscard]] TypeId unqualified(TypeId type) const;

    /// A member, also one of a struct without a name in it.
    [[nodiscard]] std::optional<Member> member(TypeId composite, std::string_view name) const;
    [[nodiscard]] std::vector<std::string> member_names(TypeId composite) const;
    /// "struct file", "int *".
    [[nodiscard]] std::string name(TypeId type) const;
    /// "struct file *file"
    [[nodiscard]] std::string declare(TypeId type, const std::string& variable) const;

    /// By a tag (struct, union, enum), or without one a typedef or basic type ("unsigned int").
    [[nodiscard]] std::optional<TypeId> find(std::string_view tag, const std::string& name) const;
    [[nodiscard]] bool is_typedef(std::string_view name) const;
    /// The enum that has a constant of this name.
    [[nodiscard]] std::optional<TypeId> enum_with(std::string_view constant) const;
    /// None where the BTF does not have it. Throws Error(kNoSuchSite) where several that differ do.
    [[nodiscard]] std::optional<Function> function(std::string_view name) const;

    [[nodiscard]] std::vector<std::string> function_names() const;

    TypeId pointer_to(TypeId type);
    TypeId array_of(TypeId type, std::uint32_t count);
    /// int, unsigned int, long or unsigned long.
    [[nodiscard]] TypeId number(bool is_wide, bool is_signed) const;
    /// The type, or for an enum without a name the number that C takes it for.
    [[nodiscard]] TypeId named_number(TypeId type) const;

  private:
    struct FreeBtf {
        void operator()(btf* types) const { btf__free(types); }
    };
    using OwnedBtf = std::unique_ptr<btf, FreeBtf>;

    Types(OwnedBtf kernel, OwnedBtf made, TypeId first_function);

    OwnedBtf kernel_;        // made_ stands on it, and goes first
    OwnedBtf made_;          // a module's types are in it, too
    TypeId first_function_;  // of a module only its own functions count
    TypeId numbers_[2][2] = {};
};

}  // namespace djprobe::loader
