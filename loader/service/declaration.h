// SPDX-License-Identifier: GPL-2.0
// What a probe that stays is to do: a file NAME.toml, and the command line that it stands for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace djprobe::loader {

/// Where the administrator's are, and where `start NAME OPTIONS` writes those that the next boot
/// forgets. The latter come first.
inline constexpr const char* kDeclared = "/etc/probeload";
inline constexpr const char* kTransient = "/run/probeload";

/// Throws Error(kUsage) for what cannot be a unit's name: letters, digits and "_.-".
void check_service_name(const std::string& name);

/// Throws Error(kUsage) for words behind `start NAME` that no service can have: another verb,
/// stdin.
void check_transient(const std::string& name, const std::vector<std::string>& words);

struct Declaration {
    std::string folder;              ///< where files are looked for; "": the file's own
    std::vector<std::string> words;  ///< of probeload: "attach", "--func", "vfs_read", ...
};

/// Parses a declaration; `file` is for messages and stands for its folder. Throws Error(kUsage).
Declaration parse_declaration(std::string_view text, const std::filesystem::path& file);
/// Reads and parses one. Throws Error, also kBadFile and kNoPermission.
Declaration read_declaration(const std::filesystem::path& file);
/// The text for a command line of `attach`. Throws Error(kUsage) for what is no UTF-8.
std::string declaration_text(const std::vector<std::string>& words, const std::string& folder);

/// FOLDER/NAME.toml.
std::filesystem::path declaration_in(const char* folder, const std::string& name);
/// The file of that name in one of the folders. Throws Error(kUsage) where there is none.
std::filesystem::path find_declaration(const std::string& name);

}  // namespace djprobe::loader
