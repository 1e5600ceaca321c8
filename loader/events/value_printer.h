// SPDX-License-Identifier: GPL-2.0
// Values of one type, as text and as JSON.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/formatter.h"
#include "decode/histogram.h"

namespace djprobe::loader {

/// Bytes of an unknown type, or of one that makes no sense, become hexadecimal: what was counted is
/// not lost for that.
class ValuePrinter {
  public:
    /// `btf` may be null, and the type 0. `name` is that of the value, by which a histogram is
    /// known; `names` are for stacks.
    ValuePrinter(const btf* btf, std::uint32_t type_id, std::size_t size,
                 std::string_view name = "", FrameNames* names = nullptr);

    [[nodiscard]] bool is_integer() const { return is_integer_; }
    [[nodiscard]] bool is_signed() const { return is_signed_; }
    [[nodiscard]] bool has_histograms() const { return !histograms_.empty(); }

    std::string text(std::span<const std::byte> value);
    nlohmann::ordered_json json(std::span<const std::byte> value);
    /// Its histograms, drawn, each behind a line with its path if it has one.
    [[nodiscard]] std::string charts(std::span<const std::byte> value) const;

  private:
    void compile(const btf& btf, std::uint32_t type_id, std::size_t size, std::string_view name,
                 FrameNames* names);

    bool is_integer_ = false;
    bool is_signed_ = false;
    std::optional<Formatter> text_;
    std::optional<Formatter> json_;
    std::vector<Histogram> histograms_;
};

}  // namespace djprobe::loader
