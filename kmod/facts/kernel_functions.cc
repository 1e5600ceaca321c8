// SPDX-License-Identifier: GPL-2.0
#include "kernel_functions.h"

namespace djprobe::kmod {
namespace {

// The room that djk_symbol_name() needs.
constexpr size_t kNameRoom = 512, kModuleRoom = 64;

}  // namespace

KernelFunctions::KernelFunctions() : name_(kNameRoom + kModuleRoom) {}

bool KernelFunctions::function_at(u64 address, Code& out) const {
    if (!copy_.load(address)) return false;
    out = copy_.code();
    return true;
}

bool KernelFunctions::start_of(u64 address, u64& start) const {
    djk_extent text;
    u64 size;
    return djk_text_extent(address, &text) && djk_symbol_range(address, &start, &size);
}

size_t KernelFunctions::addresses_of(const char* name, Span<u64> out) const {
    return djk_find_symbols(name, out.data(), out.size());
}

const char* KernelFunctions::name_of(u64 function) const {
    u64 offset;
    djk_symbol_name(function, name_.data(), name_.data() + kNameRoom, &offset);
    return name_.data();
}

}  // namespace djprobe::kmod
