// SPDX-License-Identifier: GPL-2.0
#include "trace/beside.h"

#include <memory>

#include "base/error.h"
#include "blocks/stand_in.h"
#include "kernel/pt_regs.h"
#include "survey/analysis.h"

namespace djprobe::loader {
namespace {

std::set<std::string> members_of(x86::RegisterSet registers) {
    std::set<std::string> members;
    for (std::size_t i = 0; i < kPtRegs.size(); ++i)
        if (registers >> i & 1) members.emplace(pt_reg_of_instructions(i).member);
    return members;
}

std::vector<Beside> find(KernelImage& image, const SiteSpec& site) {
    const auto symbols = image.symbols().find(site.symbol);
    if (symbols.size() != 1) return {};
    const std::uint64_t symbol = symbols.front().address, address = symbol + site.offset;
    const Symbol* const holder = image.symbols().at_or_below(address);
    if (!holder || (holder->address != symbol && !site.is_counted_from_text())) return {};
    const Symbol function = *holder;
    const auto texts = analyse_near(image, function.module, ranges_of(image.symbols(), {function}));
    if (texts.empty()) return {};
    const TextMap& map = texts.front().map;
    const std::size_t index = map.find(address);
    if (index == map.functions().size()) return {};
    const std::uint64_t start = map.functions()[index].code.address;
    std::vector<Beside> found;
    for (const StandIn& one : StandIns(map).find(index, address))
        found.push_back({{site.symbol, one.address - symbol, 0},
                         members_of(one.writes),
                         one.writes_memory,
                         one.by_jump});
    // A part of the function may have a symbol of its own.
    return start == function.address ? found : std::vector<Beside>();
}

}  // namespace

FindBeside beside_in_running_kernel() {
    const auto image = std::make_shared<std::optional<KernelImage>>();
    return [image](const SiteSpec& site) -> std::vector<Beside> {
        try {
            if (!*image) *image = KernelImage::from_running_kernel(Kallsyms::read());
            return find(**image, site);
        } catch (const Error&) {
            // Without the kernel's text nothing is known, and the site stays out.
            return {};
        }
    };
}

}  // namespace djprobe::loader
