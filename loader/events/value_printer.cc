// SPDX-License-Identifier: GPL-2.0
#include "events/value_printer.h"

#include "base/error.h"
#include "decode/btf_util.h"
#include "decode/hexdump.h"

namespace djprobe::loader {

ValuePrinter::ValuePrinter(const btf* btf, std::uint32_t type_id, std::size_t size,
                           std::string_view name, FrameNames* names) {
    if (btf == nullptr || type_id == 0) return;
    try {
        compile(*btf, type_id, size, name, names);
    } catch (const Error&) {
    }
}

void ValuePrinter::compile(const btf& btf, std::uint32_t type_id, std::size_t size,
                           std::string_view name, FrameNames* names) {
    DecodePlan text = DecodePlan::compile(btf, type_id, Format::kText);
    if (!text.accepts(size)) return;
    text_.emplace(std::move(text), names);
    json_.emplace(DecodePlan::compile(btf, type_id, Format::kJson), names);
    const btf_type& type = type_at(btf, skip_modifiers(btf, type_id));
    histograms_ = histograms_in(btf, type_id, name);
    is_integer_ = btf_is_int(&type);
    is_signed_ = is_integer_ && (btf_int_encoding(&type) & BTF_INT_SIGNED) != 0;
}

std::string ValuePrinter::text(std::span<const std::byte> value) {
    Buffer out;
    text_ ? text_->append(out, value) : append_hex(out, value);
    return {out.data(), out.size()};
}

nlohmann::ordered_json ValuePrinter::json(std::span<const std::byte> value) {
    if (!json_) return text(value);
    Buffer out;
    json_->append(out, value);
    return nlohmann::ordered_json::parse(out.begin(), out.end());
}

std::string ValuePrinter::charts(std::span<const std::byte> value) const {
    std::string text;
    for (const Histogram& histogram : histograms_) {
        const std::string chart = draw(histogram, value);
        if (!chart.empty() && histograms_.size() > 1) text += "  " + histogram.path + '\n';
        text += chart;
    }
    return text;
}

}  // namespace djprobe::loader
