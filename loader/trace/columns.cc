// SPDX-License-Identifier: GPL-2.0
#include "trace/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "decode/record_type.h"
#include "trace/words.h"

namespace djprobe::loader {
namespace {

// A longer value does not push the columns behind it to the right for good.
constexpr std::size_t kWidest = 32;
constexpr std::size_t kTimeWidth = 14, kNumberWidth = 7, kPointerWidth = 18;
constexpr std::size_t kTaskName = 16;

std::size_t first_width(const Field& field, const Cell& cell) {
    if (field.shape == Shape::kTime) return kTimeWidth;
    std::size_t usual = 0;
    if (cell.letters() == kTaskName) usual = kTaskName - 1;
    if (cell.is_number()) usual = kNumberWidth;
    if (cell.is_pointer()) usual = kPointerWidth;
    return std::max(usual, field.name.size());
}

void append(Buffer& out, const std::string& text, std::size_t width, bool right, bool last) {
    const std::string blanks(width > text.size() ? width - text.size() : 0, ' ');
    if (right) out.append(blanks);
    out.append(text);
    if (!right && !last) out.append(blanks);
    out.push_back(last ? '\n' : ' ');
}

}  // namespace

Columns::Columns(const btf& types, const std::vector<Field>& fields, Style style, std::string name,
                 Symbolizer& symbolizer)
    : style_(style), name_(std::move(name)) {
    const auto record = find_record_type(&types, "events", true);
    if (!record) fail(ExitCode::kBadFile, "the program has no type of its events");
    for (const Field& field : fields) {
        Cell cell(types, record->type_id, field, symbolizer);
        const std::size_t width = first_width(field, cell);
        columns_.push_back({field.name, std::move(cell), width});
    }
}

void Columns::print(Buffer& out, std::span<const std::byte> record) {
    if (style_ == Style::kJson) return print_json(out, record);
    if (!std::exchange(has_head_, true)) print_head(out);
    style_ == Style::kCsv ? print_csv(out, record) : print_columns(out, record);
}

void Columns::print_head(Buffer& out) const {
    std::size_t done = 0;
    for (const Column& column : columns_) {
        if (style_ == Style::kColumns && column.cell.is_stack()) continue;
        const bool last = ++done == shown();
        if (style_ == Style::kCsv)
            fmt::format_to(fmt::appender(out), "{}{}", csv_word(column.name), last ? '\n' : ',');
        else
            append(out, upper(column.name), column.width, column.cell.is_number(), last);
    }
}

std::size_t Columns::shown() const {
    const auto in_line = [this](const Column& column) {
        return style_ == Style::kCsv || !column.cell.is_stack();
    };
    return static_cast<std::size_t>(std::ranges::count_if(columns_, in_line));
}

// Stacks take lines of their own, below.
void Columns::print_columns(Buffer& out, std::span<const std::byte> record) {
    std::size_t done = 0;
    for (Column& column : columns_) {
        if (column.cell.is_stack()) continue;
        const std::string text = column.cell.text(record);
        column.width = std::max(column.width, std::min(text.size(), kWidest));
        append(out, text, column.width, column.cell.is_number(), ++done == shown());
    }
    for (Column& column : columns_) {
        if (!column.cell.is_stack()) continue;
        for (const std::string& frame : column.cell.frames(record))
            fmt::format_to(fmt::appender(out), "    {}\n", frame);
    }
}

void Columns::print_json(Buffer& out, std::span<const std::byte> record) {
    fmt::format_to(fmt::appender(out), R"({{"type":"event","name":"{}","data":{{)", name_);
    for (std::size_t i = 0; i < columns_.size(); ++i)
        fmt::format_to(fmt::appender(out), "{}\"{}\":{}", i == 0 ? "" : ",", columns_[i].name,
                       columns_[i].cell.json(record));
    fmt::format_to(fmt::appender(out), "}}}}\n");
}

void Columns::print_csv(Buffer& out, std::span<const std::byte> record) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
        fmt::format_to(fmt::appender(out), "{}{}", csv_word(columns_[i].cell.text(record)),
                       i + 1 == columns_.size() ? '\n' : ',');
}

}  // namespace djprobe::loader
