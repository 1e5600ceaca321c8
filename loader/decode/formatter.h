// SPDX-License-Identifier: GPL-2.0
// Runs a DecodePlan over records: the hot path of probeload. No allocation once the buffer has
// grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/output.h"
#include "decode/decode_plan.h"
#include "decode/frame.h"

namespace djprobe::loader {

class Formatter {
  public:
    /// Without names the frames of stacks are addresses.
    explicit Formatter(DecodePlan plan, FrameNames* names = nullptr)
        : plan_(std::move(plan)), names_(names), widths_(plan_.columns(), 0) {}

    [[nodiscard]] const DecodePlan& plan() const noexcept { return plan_; }
    /// Appends the record, which plan().accepts() must have accepted, without a newline.
    void append(Buffer& out, std::span<const std::byte> record);

  private:
    void run(std::span<const Op> ops, const std::byte* base, Buffer& out);
    void append_value(const Op& op, const std::byte* base, Buffer& out);
    void append_array(const Op& op, std::span<const Op> body, const std::byte* base, Buffer& out);
    [[nodiscard]] std::uint32_t process() const;
    void append_stack(const Op& op, const std::byte* from, Buffer& out);
    void pad(const Op& op, std::size_t start, Buffer& out);

    DecodePlan plan_;
    FrameNames* names_;
    const std::byte* record_ = nullptr;
    const std::byte* record_end_ = nullptr;
    /// Text: the widest value of each column so far, so that neighbouring lines align.
    std::vector<std::uint16_t> widths_;
};

}  // namespace djprobe::loader
