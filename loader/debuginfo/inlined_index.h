// SPDX-License-Identifier: GPL-2.0
// Which functions were inlined, and where the debug information tells of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "debuginfo/dwarf_file.h"

namespace djprobe::loader {

class InlinedIndex {
  public:
    /// From the user's cache, by the file's build ID; else made, which takes some seconds for a
    /// kernel, and kept there.
    static InlinedIndex of(const DwarfFile& debug);
    /// Made anew, whatever is kept.
    static InlinedIndex made(const DwarfFile& debug);

    /// Offsets of the entries in the debug information.
    [[nodiscard]] std::vector<std::uint64_t> find(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> names() const;
    /// A line for each function: "skb_put 12ab 34cd", by name.
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    explicit InlinedIndex(std::string text) : text_(std::move(text)) {}

    std::string text_;
};

}  // namespace djprobe::loader
