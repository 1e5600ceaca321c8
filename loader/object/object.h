// SPDX-License-Identifier: GPL-2.0
// A BPF object file: opened, and loaded with the programs that are wanted.
#pragma once

#include <bpf/libbpf.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "object/program.h"

namespace djprobe::loader {

class Object {
  public:
    /// Opens a .bpf.o, or compiles and opens a .bpf.c; "-" is stdin, either of them. Nothing
    /// reaches the kernel yet. In an application's process it takes objects only, and a damaged one
    /// may crash it. Throws Error: kBadFile, kCompile, kUsage.
    static Object open(const std::filesystem::path& file, bool verbose,
                       Process process = Process::kOurs);

    /// For messages.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::vector<Program> programs() const;
    /// Whether the program stands in a PROG_ARRAY from the start.
    [[nodiscard]] bool is_tail_called(const Program& program) const {
        return tail_called_.contains(program.name);
    }
    /// Only these programs will be loaded, and those that stand in a PROG_ARRAY.
    void take(const std::vector<Program>& programs);
    /// Creates the maps and loads the programs. Throws Error: kRejected, kNoPermission.
    void load();

    [[nodiscard]] bpf_object* handle() const noexcept { return object_.get(); }
    /// The object's types; null when it was built without -g.
    [[nodiscard]] const btf* types() const noexcept { return bpf_object__btf(object_.get()); }

  private:
    struct Close {
        void operator()(bpf_object* object) const { bpf_object__close(object); }
    };

    Object(std::string name, bool verbose, Process process)
        : name_(std::move(name)), verbose_(verbose), process_(process) {}

    std::string name_;
    bool verbose_;  ///< libbpf's log has been shown
    Process process_;
    std::unique_ptr<bpf_object, Close> object_;
    std::set<std::string> tail_called_;
};

}  // namespace djprobe::loader
