// SPDX-License-Identifier: GPL-2.0
// What libbpf prints, kept until the loader knows whether a message needs it.
#pragma once

#include <bpf/libbpf.h>

#include <cstdarg>
#include <cstddef>
#include <string>
#include <string_view>

namespace djprobe::loader {

/// Captures what libbpf prints for the thread that has made it, for as long as it lives. Of several
/// the last one captures; they end in reverse. What libbpf prints for other threads goes where it
/// went before.
class LibbpfLog {
  public:
    /// `verbose`: to stderr, too, with libbpf's words for debugging.
    explicit LibbpfLog(bool verbose);
    ~LibbpfLog();
    LibbpfLog(const LibbpfLog&) = delete;
    LibbpfLog& operator=(const LibbpfLog&) = delete;

    /// The warnings.
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// Of libbpf: the arguments are those of vprintf().
    void take(libbpf_print_level level, const char* format, std::va_list arguments)
        __attribute__((format(printf, 3, 0)));

  private:
    std::string text_;
    bool verbose_;
    LibbpfLog* outer_;
};

/// The verifier's last words in a captured log: at most `count` lines, without its statistics, and
/// without the report in which some kernels explain the last of them.
/// Empty when the verifier did not speak.
std::string verifier_tail(std::string_view log, std::size_t count);

/// The program whose log verifier_tail() would show: libbpf says "prog 'NAME': " before it.
std::string rejected_program(std::string_view log);

/// The first warning in a captured log, without the prefix "libbpf: "; empty if there is none.
std::string first_warning(std::string_view log);

}  // namespace djprobe::loader
