// SPDX-License-Identifier: GPL-2.0
#include "object/types_header.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/error.h"

namespace djprobe::loader {
namespace {

struct FreeDump {
    void operator()(btf_dump* dump) const { btf_dump__free(dump); }
};

/// A file in memory.
class TextFile {
  public:
    TextFile() : file_(open_memstream(&text_, &size_)) {
        if (!file_) fail(ExitCode::kFailure, "vmlinux.h: {}", std::strerror(errno));
    }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;
    ~TextFile() {
        std::fclose(file_);
        std::free(text_);
    }
    [[nodiscard]] std::FILE* file() const { return file_; }
    [[nodiscard]] std::string str() const {
        if (std::fflush(file_) != 0)
            fail(ExitCode::kFailure, "vmlinux.h: {}", std::strerror(errno));
        return {text_, size_};
    }

  private:
    char* text_ = nullptr;
    std::size_t size_ = 0;
    std::FILE* file_;
};

__attribute__((format(printf, 2, 0))) void print_type(void* file, const char* format,
                                                      va_list arguments) {
    std::vfprintf(static_cast<std::FILE*>(file), format, arguments);
}

}  // namespace

std::vector<std::uint32_t> all_types(const btf& types) {
    std::vector<std::uint32_t> all(btf__type_cnt(&types) - 1);
    std::iota(all.begin(), all.end(), 1);
    return all;
}

std::string types_header(const btf& types, std::span<const std::uint32_t> wanted,
                         const std::string& from) {
    const TextFile text;
    const std::unique_ptr<btf_dump, FreeDump> dump(
        btf_dump__new(&types, print_type, text.file(), nullptr));
    if (!dump) fail(ExitCode::kFailure, "vmlinux.h: {}", std::strerror(errno));

    // libbpf's headers know the kernel's own types by the guard. The attribute makes every access
    // to them relocatable (CO-RE).
    std::fputs(
        "#ifndef __VMLINUX_H__\n#define __VMLINUX_H__\n"
        "#pragma clang attribute push (__attribute__((preserve_access_index)), "
        "apply_to = record)\n",
        text.file());
    for (const std::uint32_t id : wanted) {
        if (const int error = btf_dump__dump_type(dump.get(), id); error != 0)
            fail(ExitCode::kCompile, "vmlinux.h: type {} of {}: {}", id, from,
                 std::strerror(-error));
    }
    std::fputs("#pragma clang attribute pop\n#endif\n", text.file());
    return text.str();
}

}  // namespace djprobe::loader
