// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace djprobe::loader {

std::string fetch_debug_file(const BuildId& id, const std::string& what) {
    // It brings an HTTP client along, which no other command needs.
    void* const library = dlopen("libdebuginfod.so.1", RTLD_NOW);
    if (!library)
        fail(ExitCode::kBadFile,
             "DEBUGINFOD_URLS is set, but libdebuginfod is missing: install the package "
             "libdebuginfod1");
    const auto begin =
        reinterpret_cast<decltype(&debuginfod_begin)>(dlsym(library, "debuginfod_begin"));
    const auto find = reinterpret_cast<decltype(&debuginfod_find_debuginfo)>(
        dlsym(library, "debuginfod_find_debuginfo"));
    const auto end = reinterpret_cast<decltype(&debuginfod_end)>(dlsym(library, "debuginfod_end"));
    char* path = nullptr;
    debuginfod_client* const client = begin();
    const int fd = client ? find(client, id.data(), static_cast<int>(id.size()), &path) : -ENOMEM;
    if (client) end(client);
    if (fd < 0)
        fail(ExitCode::kBadFile, "{}: no debug information from {}: {}", what,
             std::getenv("DEBUGINFOD_URLS"), std::strerror(-fd));
    close(fd);
    std::string found = path;
    std::free(path);
    return found;
}

}  // namespace djprobe::loader
