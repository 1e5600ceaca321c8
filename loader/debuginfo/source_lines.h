// SPDX-License-Identifier: GPL-2.0
// From which line of the source an instruction of the kernel comes, by DWARF.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace djprobe::loader {

/// A place in the source, and the function that it belongs to.
struct SourceFrame {
    std::string function;
    std::string file;  ///< as the debug information names it
    unsigned line;
};

/// A statement that begins at an instruction. Compilers make copies of statements, each of which
/// begins somewhere.
struct Statement {
    std::string file;
    unsigned line, column;
    bool operator<(const Statement& other) const {
        return std::tie(file, line, column) < std::tie(other.file, other.line, other.column);
    }
};

/// The debug information of the kernel or of one of its modules.
class SourceLines {
  public:
    /// The running kernel's, whose _text lies at `text`. Throws Error(kBadFile).
    static SourceLines of_kernel(const std::string& path, std::uint64_t text);
    /// That of a module, which is loaded. Throws Error(kBadFile).
    static SourceLines of_module(const std::string& path, const std::string& name);

    /// The line of the instruction at `address`; behind it where its function was inlined, up to
    /// the function that it lies in. Empty: nothing is known of it.
    [[nodiscard]] std::vector<SourceFrame> frames(std::uint64_t address) const;

    /// Its line alone, much faster; of no function by name. Nothing: it has none.
    [[nodiscard]] std::optional<SourceFrame> line(std::uint64_t address) const;

    /// The statements that begin at the instruction, none of most.
    [[nodiscard]] std::vector<Statement> statements(std::uint64_t address) const;

  private:
    struct Session;
    struct End {
        void operator()(Session* session) const;
    };
    explicit SourceLines(std::unique_ptr<Session, End> session) : session_(std::move(session)) {}

    std::unique_ptr<Session, End> session_;
};

}  // namespace djprobe::loader
