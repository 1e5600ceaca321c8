// SPDX-License-Identifier: GPL-2.0
// A program of an object: what its section says of it, and who can attach it.
#pragma once

#include <bpf/libbpf.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/site_spec.h"

namespace djprobe::loader {

/// A program of the object, by its function's name and its section.
struct Program {
    bpf_program* handle;
    std::string name;
    std::string section;
    std::vector<std::string> places{};  ///< the user's word; empty: where its section says

    int given_fd = -1;  ///< of a program that no object of ours has: no handle

    /// The file descriptor, once loaded.
    [[nodiscard]] int fd() const { return handle ? bpf_program__fd(handle) : given_fd; }
};

/// "kprobe" and "vfs_read" of SEC("kprobe/vfs_read"); a section may have no place.
std::string_view type_of_section(std::string_view section);
std::string_view place_of_section(std::string_view section);

/// The site in SEC("kprobe/vfs_read+4"), SEC("kretprobe/vfs_read"), SEC("kprobe.multi/vfs_*") or
/// SEC("ksyscall/openat"); none for SEC("kprobe"). Throws Error(kUsage).
std::optional<SiteSpec> site_of_section(std::string_view section);
/// True for SEC("kretprobe") and SEC("kretprobe/SYM"), with or without ".multi", and for
/// SEC("kretsyscall/NAME").
bool is_return_section(std::string_view section);

enum class Runner {
    kDjprobe,
    kLibbpf,  ///< it knows what the section means, though it may lack a place
    kNone,
};
Runner runner_of(const Program& program);

/// Why djprobe cannot run it, in a line that begins with its name.
std::string why_no_probe(const Program& program);

/// "first (SEC "kprobe/vfs_read"), second (SEC "kretprobe/vfs_read")".
std::string program_list(const std::vector<Program>& programs);

}  // namespace djprobe::loader
