// SPDX-License-Identifier: GPL-2.0
// Names for code addresses of processes: function, file and its build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djprobe::loader {

/// A file with code, as its symbols and notes tell.
class CodeFile {
  public:
    /// Empty where it cannot be read.
    explicit CodeFile(const std::string& path);

    /// Its bytes; "" for none.
    [[nodiscard]] const std::string& build_id() const noexcept { return build_id_; }
    struct Function {
        std::uint64_t address, size;
        std::string name;
    };
    /// What an offset in the file lies in, and how far from its start; null: not known.
    [[nodiscard]] const Function* find(std::uint64_t offset, std::uint64_t& distance) const;

  private:
    struct Segment {
        std::uint64_t offset, address, size;
    };
    std::string build_id_;
    std::vector<Segment> segments_;
    std::vector<Function> functions_;  // by address
};

/// Where an address of a process comes from.
struct CodePlace {
    std::string path;            ///< as the process sees it; "" : not known
    std::string build_id{};      ///< bytes
    std::uint64_t offset = 0;    ///< in the file
    std::string function{};      ///< "" : its symbols do not tell
    std::uint64_t distance = 0;  ///< from the function's start
};

/// Each process and file is read once. What has ended before it was first asked for has no name.
class UserCode {
  public:
    CodePlace find(std::uint32_t process, std::uint64_t address);
    /// Among the files that processes have mapped now.
    CodePlace find(const std::string& build_id, std::uint64_t offset);

  private:
    struct Mapping {
        std::uint64_t begin, end, offset;
        std::string path;
    };
    const std::vector<Mapping>& mappings_of(std::uint32_t process);
    const CodeFile& file(const std::string& real_path);
    void look_for_builds();

    std::map<std::uint32_t, std::vector<Mapping>> processes_;
    std::map<std::string, std::unique_ptr<CodeFile>> files_;
    std::optional<std::map<std::string, std::string>> builds_;  // build -> path
};

/// "read+0x10 (/lib/libc.so.6 build-id 0a1b...)", "/lib/libc.so.6+0x9c1d0 (build-id 0a1b...)".
std::string describe(const CodePlace& place);

}  // namespace djprobe::loader
