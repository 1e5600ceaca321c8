// SPDX-License-Identifier: GPL-2.0
#include "decode/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

constexpr std::uint32_t kMostSlots = 64;
// A table of them is no result of a human's tool.
constexpr std::size_t kMostHistograms = 64;
constexpr int kDeepestHistogram = 8;
constexpr std::uint64_t kWidth = 40;

bool is_name(std::string_view name) {
    return name == "slots" || name == "hist";
}

class Search {
  public:
    explicit Search(const btf& btf) : btf_(btf) {}

    void look(std::uint32_t type_id, std::string_view name, std::string_view path,
              std::uint32_t offset, int depth) {
        const btf_type& type = type_at(btf_, skip_modifiers(btf_, type_id));
        if (depth == kDeepestHistogram || found.size() == kMostHistograms) return;
        if (btf_is_struct(&type)) return look_at_members(type, path, offset, depth);
        if (!btf_is_array(&type)) return;
        const struct btf_array& array = *btf_array(&type);
        const btf_type& element = type_at(btf_, skip_modifiers(btf_, array.type));
        const bool counts = btf_is_int(&element) && (element.size == 4 || element.size == 8);
        if (counts && is_name(name) && array.nelems <= kMostSlots) {
            found.push_back({std::string(path), offset, element.size, array.nelems});
        } else if (btf_is_struct(&element)) {
            for (std::uint32_t i = 0; i < std::min<std::uint32_t>(array.nelems, kMostHistograms);
                 ++i)
                look_at_members(element, fmt::format("{}[{}]", path, i), offset + i * element.size,
                                depth);
        }
    }

    std::vector<Histogram> found;

  private:
    void look_at_members(const btf_type& type, std::string_view path, std::uint32_t offset,
                         int depth) {
        for (std::uint32_t i = 0; i < btf_vlen(&type); ++i) {
            const btf_member& member = btf_members(&type)[i];
            const std::string_view name = printable_name(btf_, member.name_off);
            look(member.type, name, fmt::format("{}.{}", path, name),
                 offset + btf_member_bit_offset(&type, i) / 8, depth + 1);
        }
    }

    const btf& btf_;
};

std::uint64_t slot(const Histogram& histogram, std::span<const std::byte> value,
                   std::uint32_t index) {
    std::uint64_t count = 0;
    const std::size_t at = histogram.offset + std::size_t{index} * histogram.slot_size;
    if (at + histogram.slot_size <= value.size())
        std::memcpy(&count, value.data() + at, histogram.slot_size);
    return count;
}

}  // namespace

std::vector<Histogram> histograms_in(const btf& btf, std::uint32_t type_id, std::string_view name) {
    Search search(btf);
    search.look(type_id, name, "", 0, 0);
    return std::move(search.found);
}

std::string draw_bars(const std::vector<NamedBar>& bars) {
    const auto is_full = [](const NamedBar& bar) { return bar.count != 0; };
    const auto first = std::ranges::find_if(bars, is_full);
    if (first == bars.end()) return "";
    const auto last = std::find_if(bars.rbegin(), bars.rend(), is_full).base();
    const std::uint64_t most = std::ranges::max_element(bars, {}, &NamedBar::count)->count;
    std::string text;
    for (auto bar = first; bar != last; ++bar) {
        // Counts of 64 bits times the width may not fit, their ratio does.
        const double share = static_cast<double>(bar->count) / static_cast<double>(most);
        text += fmt::format("{:>12} -> {:<12} {:>10} |{:<{}}|\n", bar->from, bar->to, bar->count,
                            std::string(static_cast<std::size_t>(share * kWidth), '*'), kWidth);
    }
    return text;
}

std::string draw_bars(const std::vector<Bar>& bars) {
    std::vector<NamedBar> named;
    named.reserve(bars.size());
    for (const Bar& bar : bars)
        named.push_back({fmt::to_string(bar.from), fmt::to_string(bar.to), bar.count});
    return draw_bars(named);
}

std::string draw(const Histogram& histogram, std::span<const std::byte> value) {
    std::vector<Bar> bars;
    for (std::uint32_t i = 0; i < histogram.slots; ++i)
        bars.push_back({i == 0 ? 0 : std::uint64_t{1} << i, (std::uint64_t{2} << i) - 1,
                        slot(histogram, value, i)});
    return draw_bars(bars);
}

}  // namespace djprobe::loader
