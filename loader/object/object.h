// SPDX-License-Identifier: GPL-2.0
// A BPF object file: opened, its programs chosen, loaded.
#pragma once

#include <bpf/libbpf.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/site_spec.h"
#include "object/libbpf_log.h"

namespace djprobe::loader {

/// A program of the object, by its function's name and its section.
struct Program {
    bpf_program* handle;
    std::string name;
    std::string section;

    /// The file descriptor, once loaded.
    [[nodiscard]] int fd() const { return bpf_program__fd(handle); }
};

/// What to do with several programs where none is named.
enum class Several {
    kRefuse,
    kTakeAll,        ///< their sections must say where
    kTakeAllNoPlace  ///< where is said elsewhere
};

class Object {
  public:
    /// Opens a .bpf.o, or compiles and opens a .bpf.c; "-" is stdin, either of them. Nothing
    /// reaches the kernel yet. Throws Error: kBadFile, kCompile.
    static Object open(const std::filesystem::path& file, bool verbose);

    [[nodiscard]] std::vector<Program> programs() const;
    /// The program of this name; if the name is empty the only one, or all (those of
    /// SEC("?...") excepted). The others will not be loaded.
    /// Throws Error: kUsage, kWrongProgram.
    std::vector<Program> choose(const std::string& name, Several several);
    /// Creates the maps and loads the chosen programs. Throws Error: kRejected, kNoPermission.
    void load();

    [[nodiscard]] bpf_object* handle() const noexcept { return object_.get(); }
    /// The object's types; null when it was built without -g.
    [[nodiscard]] const btf* types() const noexcept { return bpf_object__btf(object_.get()); }

  private:
    struct Close {
        void operator()(bpf_object* object) const { bpf_object__close(object); }
    };

    Object(std::string name, bool verbose);
    std::vector<Program> select(const std::string& name, Several several) const;

    std::string name_;
    bool verbose_;  ///< libbpf's log has been shown
    std::unique_ptr<LibbpfLog> log_;
    std::unique_ptr<bpf_object, Close> object_;
};

/// The site in SEC("kprobe/vfs_read+4"), SEC("kretprobe/vfs_read") or SEC("kprobe.multi/vfs_*");
/// none for SEC("kprobe"). Throws Error(kUsage).
std::optional<SiteSpec> site_of_section(std::string_view section);
/// True for SEC("kretprobe") and SEC("kretprobe/SYM"), with or without ".multi".
bool is_return_section(std::string_view section);

}  // namespace djprobe::loader
