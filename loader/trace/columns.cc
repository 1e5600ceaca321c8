// SPDX-License-Identifier: GPL-2.0
#include "trace/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/colour.h"
#include "base/error.h"
#include "decode/record_type.h"
#include "trace/words.h"

namespace djprobe::loader {
namespace {

// A longer value does not push the columns behind it to the right for good.
constexpr std::size_t kWidest = 32;
constexpr std::size_t kTimeWidth = 14, kNumberWidth = 7, kPointerWidth = 18;
constexpr std::size_t kTaskName = 16;
constexpr std::uint64_t kSecond = 1'000'000'000;

std::size_t first_width(const Field& field, const Cell& cell) {
    if (field.shape == Shape::kTime) return kTimeWidth;
    std::size_t usual = 0;
    if (cell.letters() == kTaskName) usual = kTaskName - 1;
    if (cell.is_number()) usual = kNumberWidth;
    if (cell.is_pointer()) usual = kPointerWidth;
    return std::max(usual, field.name.size());
}

// The colour takes no room, and covers no blanks.
void append(Buffer& out, const std::string& text, std::size_t width, bool right, bool last,
            std::string_view colour) {
    const std::string blanks(width > text.size() ? width - text.size() : 0, ' ');
    if (right) out.append(blanks);
    out.append(colour.empty() ? text : coloured(colour, text));
    if (!right && !last) out.append(blanks);
    out.push_back(last ? '\n' : ' ');
}

std::uint64_t nanoseconds(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
           static_cast<std::uint64_t>(time.tv_nsec);
}

std::string seconds_text(std::uint64_t time) {
    return fmt::format("{}.{:06}", time / kSecond, time / 1000 % 1'000'000);
}

// "14:03:59.123456"; for machines with the day and the zone.
std::string day_time(std::uint64_t time, bool for_people) {
    const auto seconds = static_cast<time_t>(time / kSecond);
    tm local = {};
    localtime_r(&seconds, &local);
    char day[32] = "", zone[16] = "";
    (void)std::strftime(day, sizeof day, for_people ? "%T" : "%FT%T", &local);
    if (!for_people) (void)std::strftime(zone, sizeof zone, "%z", &local);
    return fmt::format("{}.{:06}{}", day, time / 1000 % 1'000'000, zone);
}

}  // namespace

Columns::Columns(const btf& types, const std::vector<Field>& fields, ColumnsStyle style,
                 std::string name, Symbolizer& symbolizer)
    : style_(style), name_(std::move(name)) {
    const auto record = find_record_type(&types, "events", true);
    if (!record) fail(ExitCode::kBadFile, "the program has no type of its events");
    for (const Field& field : fields) {
        Cell cell(types, record->type_id, field, symbolizer);
        const std::size_t width = first_width(field, cell);
        columns_.push_back({field.name, std::move(cell), width, field.shape});
    }
}

// The clock is set, and gains and loses, while a trace runs.
void Columns::look_at_clock() {
    const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    if (wall_ != 0 && now - looked_ < kSecond) return;
    looked_ = now;
    wall_ = nanoseconds(CLOCK_REALTIME) - now;
}

void Columns::print(Buffer& out, std::span<const std::byte> record) {
    if (style_.times == TimeColumn::kWall) look_at_clock();
    const bool needs_head = style_.style != Style::kJson && !std::exchange(has_head_, true);
    if (needs_head) print_head(out);
    if (style_.style == Style::kJson)
        print_json(out, record);
    else
        style_.style == Style::kCsv ? print_csv(out, record) : print_columns(out, record);
    last_time_ = time(record).value_or(0);
}

std::optional<std::uint64_t> Columns::time(std::span<const std::byte> record) const {
    const auto column = std::ranges::find(columns_, Shape::kTime, &Column::shape);
    if (column == columns_.end()) return std::nullopt;
    return column->cell.number(record);
}

std::string Columns::time_text(std::uint64_t time) const {
    if (style_.times == TimeColumn::kWall)
        return day_time(time + wall_, style_.style == Style::kColumns);
    if (style_.times == TimeColumn::kBoot) return seconds_text(time);
    // Events of several CPUs come not quite in their order.
    if (last_time_ > time) return "-" + seconds_text(last_time_ - time);
    return seconds_text(last_time_ == 0 ? 0 : time - last_time_);
}

std::string Columns::text_of(Column& column, std::span<const std::byte> record) {
    if (column.shape == Shape::kTime) return time_text(column.cell.number(record));
    return column.cell.text(record);
}

std::string Columns::json_of(Column& column, std::span<const std::byte> record) {
    if (column.shape != Shape::kTime || style_.times == TimeColumn::kBoot)
        return column.cell.json(record);
    const std::uint64_t time = column.cell.number(record);
    if (style_.times == TimeColumn::kWall) return '"' + day_time(time + wall_, false) + '"';
    return fmt::to_string(last_time_ == 0 ? 0 : static_cast<std::int64_t>(time - last_time_));
}

std::string_view Columns::colour_of(const Column& column) const {
    if (!style_.colours) return "";
    if (column.shape == Shape::kTime) return kDim;
    return column.name == "comm" ? kCyan : "";
}

std::vector<ReportColumn> Columns::report_columns() const {
    std::vector<ReportColumn> columns;
    for (const Column& column : columns_) {
        if (column.shape == Shape::kTime) continue;
        const bool is_number = column.cell.is_number() && column.shape == Shape::kValue;
        const char* const other = column.cell.is_stack() ? "stack" : "text";
        columns.push_back({column.name, is_number ? "number" : other});
    }
    return columns;
}

std::string Columns::report_row(std::span<const std::byte> record) {
    std::string row;
    for (Column& column : columns_)
        if (column.shape != Shape::kTime)
            row += (row.empty() ? "" : ",") + column.cell.json(record);
    return row;
}

void Columns::print_head(Buffer& out) const {
    std::size_t done = 0;
    for (const Column& column : columns_) {
        if (style_.style == Style::kColumns && column.cell.is_stack()) continue;
        const bool last = ++done == shown();
        if (style_.style == Style::kCsv)
            fmt::format_to(fmt::appender(out), "{}{}", csv_word(column.name), last ? '\n' : ',');
        else
            append(out, upper(column.name), column.width, column.cell.is_number(), last,
                   style_.colours ? kBold : "");
    }
}

std::size_t Columns::shown() const {
    const auto in_line = [this](const Column& column) {
        return style_.style == Style::kCsv || !column.cell.is_stack();
    };
    return static_cast<std::size_t>(std::ranges::count_if(columns_, in_line));
}

// Stacks take lines of their own, below.
void Columns::print_columns(Buffer& out, std::span<const std::byte> record) {
    std::size_t done = 0;
    for (Column& column : columns_) {
        if (column.cell.is_stack()) continue;
        const std::string text = text_of(column, record);
        column.width = std::max(column.width, std::min(text.size(), kWidest));
        append(out, text, column.width, column.cell.is_number(), ++done == shown(),
               colour_of(column));
    }
    for (Column& column : columns_) {
        if (!column.cell.is_stack()) continue;
        for (const std::string& frame : column.cell.frames(record))
            fmt::format_to(fmt::appender(out), "    {}\n",
                           style_.colours ? coloured(kDim, frame) : frame);
    }
}

void Columns::print_json(Buffer& out, std::span<const std::byte> record) {
    fmt::format_to(fmt::appender(out), R"({{"type":"event","name":"{}","data":{{)", name_);
    for (std::size_t i = 0; i < columns_.size(); ++i)
        fmt::format_to(fmt::appender(out), "{}\"{}\":{}", i == 0 ? "" : ",", columns_[i].name,
                       json_of(columns_[i], record));
    fmt::format_to(fmt::appender(out), "}}}}\n");
}

void Columns::print_csv(Buffer& out, std::span<const std::byte> record) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
        fmt::format_to(fmt::appender(out), "{}{}", csv_word(text_of(columns_[i], record)),
                       i + 1 == columns_.size() ? '\n' : ',');
}

}  // namespace djprobe::loader
