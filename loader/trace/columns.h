// SPDX-License-Identifier: GPL-2.0
// The events of a trace, as columns, JSON or CSV.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/output.h"
#include "report/report.h"
#include "trace/cell.h"
#include "trace/field.h"

namespace djprobe::loader {

enum class Style { kColumns, kJson, kCsv };

/// What the column of times shows.
enum class TimeColumn {
    kBoot,   ///< seconds of the kernel's clock
    kWall,   ///< the time of day
    kDelta,  ///< seconds since the event before
};

struct ColumnsStyle {
    Style style = Style::kColumns;
    TimeColumn times = TimeColumn::kBoot;
    bool colours = false;  ///< of columns
};

class Columns {
  public:
    /// `types`: of the object, with the fields as members of its `struct event`; `name`: of the
    /// place, for JSON. Throws Error(kBadFile).
    Columns(const btf& types, const std::vector<Field>& fields, ColumnsStyle style,
            std::string name, Symbolizer& symbolizer);

    /// A line for the record, and before the first one the head.
    void print(Buffer& out, std::span<const std::byte> record);

    /// For a report: its columns, and of a record the values of these in JSON, with commas between.
    /// The time is told beside them.
    [[nodiscard]] std::vector<ReportColumn> report_columns() const;
    std::string report_row(std::span<const std::byte> record);
    /// Nanoseconds of the kernel's clock; none where the events do not tell them.
    [[nodiscard]] std::optional<std::uint64_t> time(std::span<const std::byte> record) const;

  private:
    struct Column {
        std::string name;
        Cell cell;
        std::size_t width;
        Shape shape;
    };

    /// Of the columns so many are in a line.
    [[nodiscard]] std::size_t shown() const;
    void print_head(Buffer& out) const;
    void print_columns(Buffer& out, std::span<const std::byte> record);
    void print_json(Buffer& out, std::span<const std::byte> record);
    void print_csv(Buffer& out, std::span<const std::byte> record);

    void look_at_clock();
    std::string text_of(Column& column, std::span<const std::byte> record);
    std::string json_of(Column& column, std::span<const std::byte> record);
    [[nodiscard]] std::string time_text(std::uint64_t time) const;
    [[nodiscard]] std::string_view colour_of(const Column& column) const;

    std::vector<Column> columns_;
    ColumnsStyle style_;
    std::string name_;
    bool has_head_ = false;
    std::uint64_t last_time_ = 0;  // of the event before; 0: there is none
    std::uint64_t wall_ = 0;       // nanoseconds from the kernel's clock to the time of day,
    std::uint64_t looked_ = 0;     // as they were at this time of the kernel's
};

}  // namespace djprobe::loader
