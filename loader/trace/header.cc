// SPDX-License-Identifier: GPL-2.0
#include "trace/header.h"

#include "base/error.h"
#include "object/types_header.h"

namespace djprobe::loader {
namespace {

constexpr const char* kTypedefs[] = {"__u8",  "__u16", "__u32",  "__u64",  "__s8",  "__s16",
                                     "__s32", "__s64", "__be16", "__be32", "__wsum"};
// An enum of each is there by this constant.
constexpr const char* kConstants[] = {"BPF_MAP_TYPE_RINGBUF", "BPF_ANY", "BPF_F_USER_STACK"};

TypeId need(std::optional<TypeId> type, const char* name) {
    if (!type) fail(ExitCode::kBadFile, "the kernel's types do not have {}", name);
    return *type;
}

}  // namespace

std::string trace_header(const Types& types, const std::set<TypeId>& wanted) {
    std::set<TypeId> all = wanted;
    for (const char* const name : kTypedefs)
        all.insert(need(types.find("", name), name));
    for (const char* const name : kConstants)
        all.insert(need(types.enum_with(name), name));
    all.insert(need(types.find("struct", "pt_regs"), "pt_regs"));
    const std::vector<TypeId> list(all.begin(), all.end());
    return types_header(types.all(), list, "the kernel");
}

std::vector<std::string> trace_flags(const Types& types) {
    const auto character = types.find("", "char");
    if (!character || types.is_signed(*character)) return {};
    return {"-funsigned-char"};
}

}  // namespace djprobe::loader
