// SPDX-License-Identifier: GPL-2.0
// Files that are there whole, or as they were: on a full disk, too.
#pragma once

#include <filesystem>
#include <string_view>

namespace djprobe::loader {

// All of them throw Error(kFailure): "OPTION: FILE: No space left on device".

/// Writes another file beside it, which takes its name: a reader sees the old text or the new one.
void replace_file(const char* option, const std::filesystem::path& file, std::string_view text);
/// Would it succeed? Leaves nothing behind.
void check_replaceable(const char* option, const std::filesystem::path& file);

/// Replaces it, or the file that a link leads to. What is no regular file (a pipe) or is open
/// already (/dev/stdout) is written as it is, and so is a file whose folder takes no other one.
void write_whole(const char* option, const std::filesystem::path& file, std::string_view text);
/// Would it succeed? Leaves nothing behind.
void check_writable(const char* option, const std::filesystem::path& file);

}  // namespace djprobe::loader
