// SPDX-License-Identifier: GPL-2.0
#include "object/compile.h"

#include <bpf/btf.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "base/regular_file.h"
#include "object/types_header.h"

namespace djprobe::loader {
namespace {

constexpr const char* kKernelBtf = "/sys/kernel/btf/vmlinux";

struct FreeBtf {
    void operator()(btf* btf) const { btf__free(btf); }
};

constexpr int kDeepestInclude = 8;  // headers that include each other end somewhere

// Directly, or by way of a header in `beside`.
bool includes_vmlinux_header(const std::filesystem::path& source,
                             const std::filesystem::path& beside, int depth = 0) {
    std::ifstream file(source);
    std::string line;
    while (std::getline(file, line)) {
        const std::size_t include = line.find("#include");
        if (include == line.npos) continue;
        const std::size_t open = line.find_first_of("\"<", include);
        const std::size_t close = line.find_first_of("\">", open + 1);
        if (open == line.npos || close == line.npos) continue;
        const std::string name = line.substr(open + 1, close - open - 1);
        if (name == "vmlinux.h") return true;
        const std::filesystem::path header = beside / name;
        if (depth < kDeepestInclude &&
            includes_vmlinux_header(header, header.parent_path(), depth + 1))
            return true;
    }
    return false;
}

std::vector<std::string> clang_command(const std::filesystem::path& source,
                                       const std::filesystem::path& beside,
                                       const std::filesystem::path& object,
                                       const std::filesystem::path& include) {
    return {"clang", "-target", "bpf", "-O2", "-g", "-D__TARGET_ARCH_x86", "-I", beside, "-I",
            include,
            // <linux/types.h> wants <asm/types.h>, which Debian keeps for each architecture.
            "-idirafter", "/usr/include/x86_64-linux-gnu", "-c", source, "-o", object};
}

}  // namespace

bool is_source(const std::filesystem::path& file) {
    return file.extension() == ".c";
}

void write_vmlinux_header(const std::filesystem::path& btf_file,
                          const std::filesystem::path& header) {
    const std::unique_ptr<btf, FreeBtf> btf(btf__parse(btf_file.c_str(), nullptr));
    if (!btf) {
        fail(ExitCode::kCompile, "vmlinux.h: no kernel types in {}: {}", btf_file.string(),
             std::strerror(errno));
    }
    std::ofstream file(header);
    file << types_header(*btf, all_types(*btf), btf_file.string());
    if (!file.flush()) fail(ExitCode::kFailure, "{}: {}", header.string(), std::strerror(errno));
}

std::filesystem::path compile(const std::filesystem::path& source, const std::string& name,
                              const std::filesystem::path& beside, TempDir& directory,
                              const std::vector<std::string>& flags,
                              const std::string& without_clang, Process process) {
    struct stat status = {};
    open_regular(source, status);  // for what it says when that cannot be
    if (includes_vmlinux_header(source, beside) && !std::filesystem::exists(beside / "vmlinux.h")) {
        write_vmlinux_header(kKernelBtf, directory.file("vmlinux.h"));
    }
    std::filesystem::path object = directory.file(source.stem().string() + ".o");
    try {
        std::vector<std::string> command = clang_command(source, beside, object, directory.path());
        command.insert(command.end(), flags.begin(), flags.end());
        const Finished clang = process == Process::kOurs
                                   ? Finished{Child::start(command).wait(), ""}
                                   : run_to_end(command, process);
        if (clang.status != 0)
            fail(ExitCode::kCompile, "{}: clang ended with {}{}{}", name,
                 describe_wait_status(clang.status), clang.output.empty() ? "" : "\n",
                 clang.output);
        // Of a child whose parent ignores SIGCHLD the kernel tells no status.
        if (!std::filesystem::exists(object))
            fail(ExitCode::kCompile, "{}: clang has made no object{}{}", name,
                 clang.output.empty() ? "" : "\n", clang.output);
    } catch (const std::system_error& error) {
        if (error.code() == std::errc::no_such_file_or_directory) {
            fail(ExitCode::kCompile,
                 "{}: needs clang to be compiled (apt install clang libbpf-dev), or {}", name,
                 without_clang);
        }
        fail(ExitCode::kCompile, "clang: {}", error.code().message());
    }
    return object;
}

}  // namespace djprobe::loader
