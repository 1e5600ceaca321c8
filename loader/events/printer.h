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
#include "decode/record_type.h"

namespace djprobe::loader {

/// Maps that carry events differ in how exact a record's size is.
enum class RecordSize {
    kExact,   ///< ring buffer
    kPadded,  ///< perf event array: up to 7 bytes more than were sent
};

/// How the records of one map are printed.
struct RecordStyle {
    Format format = Format::kText;
    RecordSize size = RecordSize::kExact;
    std::uint32_t number = 0;     ///< raw: of the map
    FrameNames* names = nullptr;  ///< for stacks in records
    bool explains = true;         ///< to stderr, why records are dumped
};

/// What precedes each record with Format::kRaw, in the machine's byte order (little-endian). The
/// record's bytes follow as the program wrote them, then the next header: nothing is padded.
struct RawHeader {
    std::uint32_t length;  ///< bytes of the record
    std::uint32_t map;     ///< index of its map among the object's event maps
};

class RecordPrinter {
  public:
    /// Finds the record's type by the convention of record_type.h and compiles its plan.
    RecordPrinter(const btf* btf, const std::string& map_name, bool is_only_event_map,
                  RecordStyle style);
    /// The type is known, or is known to be none.
    RecordPrinter(const btf* btf, std::string map_name, const std::optional<RecordType>& type,
                  RecordStyle style);

    /// Appends one record. Text and JSON: a line, decoded, or as a hexdump when the type is unknown
    /// or does not fit; the first time with a line on stderr that says what to add.
    void print(Buffer& out, std::span<const std::byte> record);
    void operator()(Buffer& out, std::span<const std::byte> record) { print(out, record); }

  private:
    [[nodiscard]] bool fits(std::size_t size) const;
    [[nodiscard]] bool has_unknown_length() const;
    void append_raw(Buffer& out, std::span<const std::byte> record) const;
    void dump(Buffer& out, std::span<const std::byte> record) const;
    void explain(std::size_t size);

    std::string map_name_;
    RecordStyle style_;
    bool has_btf_;
    bool explained_ = false;
    std::string type_name_;
    std::optional<Formatter> formatter_;
};

}  // namespace djprobe::loader
