// SPDX-License-Identifier: GPL-2.0
// An image's functions and names, as arch/x86/analysis/closure.h and kmod/linux_names/roots.h ask
// for them.
#pragma once

#include <string_view>
#include <unordered_map>

#include "../../arch/x86/analysis/snapshot.h"
#include "../../kmod/linux_names/root_names.h"
#include "survey/image.h"

namespace djprobe::loader {

/// Functions of the kernel's own text; names of all that it has.
class ImageFunctions {
  public:
    explicit ImageFunctions(const KernelImage& image);

    bool function_at(u64 address, Code& out) const;
    bool start_of(u64 address, u64& start) const;
    std::size_t addresses_of(const char* name, Span<u64> out) const;
    const char* name_of(u64 function) const;

  private:
    const KernelImage& image_;
    Range text_;
    std::vector<const Symbol*> functions_;  ///< one for each address, the first that has it
    std::unordered_multimap<std::string_view, u64> places_;
    mutable std::string name_;

    [[nodiscard]] std::size_t find(u64 address) const;
};

/// Throws Error: the image lacks what each kernel must have.
[[noreturn]] void reject_lacking(const KernelImage& image, const djprobe_root& lacking);

}  // namespace djprobe::loader
