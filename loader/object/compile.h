// SPDX-License-Identifier: GPL-2.0
// NAME.bpf.c to a BPF object, with clang.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/temp_dir.h"

namespace djprobe::loader {

/// True for a file that compile() takes: its name ends in .c.
bool is_source(const std::filesystem::path& file);

/// Compiles into `directory` and returns the object's path. clang's messages go to stderr as they
/// are, in an application's process into the error; `name` is the source's in our own. A source
/// that includes vmlinux.h, itself or by a header in `beside`, gets the running kernel's, unless
/// there is one. `flags`: clang's, besides. `without_clang`: what else to do where there is none.
/// Throws Error: kBadFile, kCompile.
std::filesystem::path compile(const std::filesystem::path& source, const std::string& name,
                              const std::filesystem::path& beside, TempDir& directory,
                              const std::vector<std::string>& flags = {},
                              const std::string& without_clang = "give an object (.bpf.o)",
                              Process process = Process::kOurs);

/// Writes the types of a kernel's BTF as a header for CO-RE programs. Throws Error(kCompile).
void write_vmlinux_header(const std::filesystem::path& btf, const std::filesystem::path& header);

}  // namespace djprobe::loader
