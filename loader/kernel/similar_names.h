// SPDX-License-Identifier: GPL-2.0
// "Did you mean": function names near to one that does not exist.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kallsyms.h"

namespace djprobe::loader {

/// Edits (insert, delete, replace, swap neighbours) from `a` to `b`; more than `limit` count as
/// limit + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

/// At most `count` text symbols that the user may have meant, the likeliest first: the variants
/// of the name (NAME.isra.0, NAME_noprof, __x64_NAME) and the name in other modules, then near
/// spellings.
std::vector<std::string> similar_names(const Kallsyms& kallsyms, std::string_view wanted,
                                       std::size_t count);

/// Whether only data has this name.
bool is_data(const Kallsyms& kallsyms, std::string_view name);

/// Of a name that no function has: "; the symbol is data", "; did you mean vfs_read, vfs_readv?",
/// or "". Of a pattern there is none.
std::string hint_at(const Kallsyms& kallsyms, std::string_view wanted);

}  // namespace djprobe::loader
