// SPDX-License-Identifier: GPL-2.0
// Finds the names of root_names.h in one kernel.
#pragma once

#include "../../arch/x86/insn/types.h"
#include "root_names.h"

namespace djprobe::x86 {

/// Calls use(address, is_part) for each function of that name and for each form that compiler and
/// build make of it: NAME.part.0, NAME.constprop.0, NAME.isra.0, __pi_NAME. A part (NAME.cold) is
/// no function of its own. Returns whether there is a function. Other forms call those with higher
/// numbers, so that a closure reaches them. Kernel::addresses_of(name, Span<u64>) -> size_t says
/// how many symbols have that name, and where.
template <class Kernel, class Use>
bool for_each_form(const Kernel& kernel, const char* name, Use&& use);

/// The first name of the table that this kernel must have and lacks; nullptr: it lacks none.
template <class Kernel>
const djprobe_root* find_lacking(const Kernel& kernel, Span<const djprobe_root> roots);

}  // namespace djprobe::x86

namespace djprobe::x86 {
namespace names {

// Always inline: the kernel's build has no room for a function that several objects hold.

inline constexpr size_t kMaxSame = 8;
inline constexpr const char* kPrefixes[] = {"", "__pi_"};
inline constexpr const char* kPart = ".cold";
inline constexpr const char* kSuffixes[] = {
    "", kPart, ".part.0", ".part.1", ".constprop.0", ".constprop.1", ".isra.0", ".isra.1"};

[[gnu::always_inline]] inline bool equal(const char* a, const char* b) {
    while (*a && *a == *b)
        ++a, ++b;
    return *a == *b;
}

[[gnu::always_inline]] inline bool begins(const char* name, const char* prefix) {
    while (*prefix && *name == *prefix)
        ++name, ++prefix;
    return !*prefix;
}

[[gnu::always_inline]] inline bool has_part(const char* name) {
    for (; *name; ++name)
        if (begins(name, kPart)) return true;
    return false;
}

struct Form {
    char text[128];

    [[gnu::always_inline]] bool make(const char* prefix, const char* name, const char* suffix) {
        size_t length = 0;
        const char* const pieces[] = {prefix, name, suffix};
        for (const char* piece : pieces)
            for (; *piece; ++piece) {
                if (length + 1 == sizeof(text)) return false;
                text[length++] = *piece;
            }
        text[length] = 0;
        return true;
    }
};

/// The symbols of that name, as far as there is room.
template <class Kernel>
size_t count_of(const Kernel& kernel, const char* name, Span<u64> out) {
    const size_t count = kernel.addresses_of(name, out);
    return count < out.size() ? count : out.size();
}

template <class Kernel>
bool is_there(const Kernel& kernel, const char* name) {
    return for_each_form(kernel, name, [](u64, bool) {});
}

}  // namespace names

template <class Kernel, class Use>
bool for_each_form(const Kernel& kernel, const char* name, Use&& use) {
    bool found = false;
    names::Form form;
    u64 same[names::kMaxSame];
    for (const char* prefix : names::kPrefixes)
        for (const char* suffix : names::kSuffixes) {
            if (!form.make(prefix, name, suffix)) continue;
            const bool part = suffix == names::kPart;
            const size_t count =
                names::count_of(kernel, form.text, Span<u64>{same, names::kMaxSame});
            for (size_t i = 0; i < count; ++i)
                use(same[i], part);
            found |= count > 0 && !part;
        }
    return found;
}

template <class Kernel>
const djprobe_root* find_lacking(const Kernel& kernel, Span<const djprobe_root> roots) {
    u64 any;
    const auto one_of_group = [&](const char* group) {
        for (const djprobe_root& root : roots)
            if (root.need == DJPROBE_ONE_OF && names::equal(root.of, group) &&
                names::is_there(kernel, root.name))
                return true;
        return false;
    };
    for (const djprobe_root& root : roots) {
        bool needed = root.need == DJPROBE_ALWAYS;
        if (root.need == DJPROBE_WITH)
            needed = kernel.addresses_of(root.of, Span<u64>{&any, 1}) > 0;
        if (root.need == DJPROBE_ONE_OF) needed = !one_of_group(root.of);
        if (needed && !names::is_there(kernel, root.name)) return &root;
    }
    return nullptr;
}

}  // namespace djprobe::x86
