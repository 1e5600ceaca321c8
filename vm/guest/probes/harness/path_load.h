// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>

namespace djprobe::vm {

/// Functions of the kernel that use_paths() runs.
inline constexpr const char* kPathFunctions[] = {
    "vfs_statx",         "do_filp_open",    "vfs_read",      "do_sys_openat2", "path_openat",
    "path_lookupat",     "filename_lookup", "lookup_fast",   "walk_component", "step_into",
    "link_path_walk",    "do_dentry_open",  "vfs_write",     "vfs_open",       "do_unlinkat",
    "do_renameat2",      "do_mkdirat",      "do_rmdir",      "do_readlinkat",  "getname_flags",
    "alloc_fd",          "may_open",        "__fput",        "dput",           "vfs_fstatat",
    "vfs_getattr_nosec", "cp_new_stat",     "seq_read_iter", "terminate_walk", "complete_walk"};

/// Opens, reads, writes, renames, ...: always the same calls. The number of wrong results.
/// Each user of a `folder` of its own.
uint64_t use_paths(uint64_t times, const char* folder = "/tmp/paths");

}  // namespace djprobe::vm
