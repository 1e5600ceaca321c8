// SPDX-License-Identifier: GPL-2.0
#include "kernel/addresses.h"

namespace djprobe::loader {

std::optional<std::uint64_t> address_of(const SiteSpec& site, const Kallsyms& kallsyms) {
    if (kallsyms.are_hidden()) return std::nullopt;
    if (site.symbol.empty()) return site.address;
    if (!site.is_counted_from_text()) return std::nullopt;
    const std::vector<Symbol> text = kallsyms.find(site.symbol);
    if (text.size() != 1) return std::nullopt;
    return text.front().address + site.offset;
}

}  // namespace djprobe::loader
