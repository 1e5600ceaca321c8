// SPDX-License-Identifier: GPL-2.0
// The events of a trace, as columns, JSON or CSV.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/output.h"
#include "trace/cell.h"
#include "trace/field.h"

namespace djprobe::loader {

enum class Style { kColumns, kJson, kCsv };

class Columns {
  public:
    /// `types`: of the object, with the fields as members of its `struct event`; `name`: of the
    /// place, for JSON. Throws Error(kBadFile).
    Columns(const btf& types, const std::vector<Field>& fields, Style style, std::string name,
            Symbolizer& symbolizer);

    /// A line for the record, and before the first one the head.
    void print(Buffer& out, std::span<const std::byte> record);

  private:
    struct Column {
        std::string name;
        Cell cell;
        std::size_t width;
    };

    /// Of the columns so many are in a line.
    [[nodiscard]] std::size_t shown() const;
    void print_head(Buffer& out) const;
    void print_columns(Buffer& out, std::span<const std::byte> record);
    void print_json(Buffer& out, std::span<const std::byte> record);
    void print_csv(Buffer& out, std::span<const std::byte> record);

    std::vector<Column> columns_;
    Style style_;
    std::string name_;
    bool has_head_ = false;
};

}  // namespace djprobe::loader
