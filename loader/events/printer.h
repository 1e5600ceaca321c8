// SPDX-License-Identifier: GPL-2.0
// The records of one event map, printed.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/output.h"
#include "decode/formatter.h"

namespace djprobe::loader {

/// Maps that carry events differ in how exact a record's size is.
enum class RecordSize {
    kExact,   ///< ring buffer
    kPadded,  ///< perf event array: up to 7 bytes more than were sent
};

class RecordPrinter {
  public:
    /// Finds the record's type by the convention of record_type.h and compiles its plan.
    RecordPrinter(const btf* btf, std::string map_name, bool is_only_event_map, Format format,
                  RecordSize record_size);

    /// Appends one record and a newline: decoded, or as a hexdump when the type is unknown or does
    /// not fit; the first time with a line on stderr that says what to add.
    void print(Buffer& out, std::span<const std::byte> record);

  private:
    [[nodiscard]] bool fits(std::size_t size) const;
    void print_raw(Buffer& out, std::span<const std::byte> record);
    void explain(std::size_t size);

    std::string map_name_;
    Format format_;
    RecordSize record_size_;
    bool has_btf_;
    bool explained_ = false;
    std::string type_name_;
    std::optional<Formatter> formatter_;
};

}  // namespace djprobe::loader
