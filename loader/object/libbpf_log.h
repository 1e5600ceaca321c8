// SPDX-License-Identifier: GPL-2.0
// What libbpf prints, kept until the loader knows whether a message needs it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace djprobe::loader {

/// Captures what libbpf prints for as long as it lives; one at a time.
class LibbpfLog {
  public:
    explicit LibbpfLog(bool verbose);
    ~LibbpfLog();
    LibbpfLog(const LibbpfLog&) = delete;
    LibbpfLog& operator=(const LibbpfLog&) = delete;

    [[nodiscard]] const std::string& text() const;
    void clear();
};

/// The verifier's last words in a captured log: at most `count` lines, without its statistics.
/// Empty when the verifier did not speak.
std::string verifier_tail(std::string_view log, std::size_t count);

/// The program whose log verifier_tail() would show: libbpf says "prog 'NAME': " before it.
std::string rejected_program(std::string_view log);

/// The first warning in a captured log, without the prefix "libbpf: "; empty if there is none.
std::string first_warning(std::string_view log);

}  // namespace djprobe::loader
