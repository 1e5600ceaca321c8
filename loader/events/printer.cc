// SPDX-License-Identifier: GPL-2.0
#include "events/printer.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "base/say.h"
#include "decode/hexdump.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kPerfPadding = 7;

}  // namespace

RecordPrinter::RecordPrinter(const btf* btf, const std::string& map_name, bool is_only_event_map,
                             RecordStyle style)
    : RecordPrinter(btf, map_name,
                    style.format == Format::kRaw
                        ? std::nullopt
                        : find_record_type(btf, map_name, is_only_event_map),
                    style) {}

RecordPrinter::RecordPrinter(const btf* btf, std::string map_name,
                             const std::optional<RecordType>& type, RecordStyle style)
    : map_name_(std::move(map_name)), style_(style), has_btf_(btf != nullptr) {
    const Format format = style.format;
    if (!type || format == Format::kRaw) return;
    type_name_ = type->name;
    if (format == Format::kJson) {
        const std::string head = fmt::format(R"({{"type":"event","name":"{}","data":)", type->name);
        formatter_.emplace(DecodePlan::compile(*btf, type->type_id, format, head, "}\n"),
                           style.names);
    } else {
        formatter_.emplace(DecodePlan::compile(*btf, type->type_id, format, type->name, "\n"),
                           style.names);
    }
}

// Padding would look like elements of the array at the end, unless the elements are larger.
bool RecordPrinter::has_unknown_length() const {
    const DecodePlan& plan = formatter_->plan();
    return style_.size == RecordSize::kPadded && plan.is_flexible() &&
           plan.flexible_element() <= kPerfPadding;
}

bool RecordPrinter::fits(std::size_t size) const {
    const DecodePlan& plan = formatter_->plan();
    if (has_unknown_length()) return false;
    if (plan.accepts(size)) return true;
    return style_.size == RecordSize::kPadded && size >= plan.size() &&
           size - plan.size() <= kPerfPadding;
}

void RecordPrinter::print(Buffer& out, std::span<const std::byte> record) {
    if (formatter_ && fits(record.size())) return formatter_->append(out, record);
    if (style_.format == Format::kRaw) return append_raw(out, record);
    if (style_.explains && !explained_) explain(record.size());
    explained_ = true;
    dump(out, record);
}

void RecordPrinter::append_raw(Buffer& out, std::span<const std::byte> record) const {
    const RawHeader header{static_cast<std::uint32_t>(record.size()), style_.number};
    const std::size_t at = out.size();
    out.resize(at + sizeof header + record.size());
    std::memcpy(out.data() + at, &header, sizeof header);
    std::memcpy(out.data() + at + sizeof header, record.data(), record.size());
}

void RecordPrinter::dump(Buffer& out, std::span<const std::byte> record) const {
    if (style_.format == Format::kJson) {
        fmt::format_to(fmt::appender(out), R"({{"type":"raw","map":"{}","size":{},"hex":")",
                       map_name_, record.size());
        append_hex(out, record);
        fmt::format_to(fmt::appender(out), "\"}}\n");
    } else {
        fmt::format_to(fmt::appender(out), "{}: {} bytes\n", map_name_, record.size());
        append_hexdump(out, record);
    }
}

void RecordPrinter::explain(std::size_t size) {
    if (!has_btf_) {
        say("probeload: map '{}': the object has no types, its records are dumped: compile "
            "with -g\n",
            map_name_);
    } else if (formatter_ && has_unknown_length()) {
        say("probeload: map '{}': where the array at the end of a '{}' ends is not known, as the "
            "kernel pads the records of a perf event array; they are dumped: use a ring buffer\n",
            map_name_, type_name_);
    } else if (formatter_) {
        const DecodePlan& plan = formatter_->plan();
        say("probeload: map '{}': a record of {} bytes is not a '{}' of {} bytes{} and is "
            "dumped: send whole records of that type, or name the record's type after the "
            "map\n",
            map_name_, size, type_name_, plan.size(), plan.is_flexible() ? " or more" : "");
    } else {
        say("probeload: map '{}': no type for its records, they are dumped: {}\n", map_name_,
            anchor_hint(map_name_));
    }
}

}  // namespace djprobe::loader
