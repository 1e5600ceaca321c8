// SPDX-License-Identifier: GPL-2.0
#include "run/function_names.h"

#include <utility>

namespace djprobe::loader {
namespace {

constexpr unsigned kMany = 8;

}  // namespace

void FunctionNames::read() {
    if (kallsyms_) return;
    kallsyms_ = &head_start_.symbols();
    for (const Symbol& symbol : kallsyms_->symbols()) {
        if (!symbol.is_text() || !symbol.module.empty()) continue;
        const auto [known, is_new] = core_.try_emplace(symbol.name, symbol.address);
        if (!is_new) known->second = 0;
    }
}

SiteSpec FunctionNames::by_address(const SiteSpec& site) {
    read();
    const auto known = core_.find(site.symbol);
    if (site.symbol.empty() || known == core_.end() || known->second == 0) return site;
    return {"", 0, known->second};
}

SiteSpec FunctionNames::soon_by_address(const SiteSpec& site) {
    if (site.symbol.empty() || (!kallsyms_ && ++asked_ < kMany)) return site;
    SiteSpec place = by_address(site);
    if (!place.symbol.empty()) return site;
    const std::uint64_t start = std::exchange(place.address, place.address + site.offset);
    return start_of(place.address) == start ? place : site;
}

bool FunctionNames::has(std::string_view name) {
    read();
    return core_.contains(name);
}

std::uint64_t FunctionNames::start_of(std::uint64_t address) {
    read();
    const Symbol* const symbol = kallsyms_->at_or_below(address);
    return symbol ? symbol->address : address;
}

bool FunctionNames::is_start(std::uint64_t address) {
    read();
    const Symbol* const symbol = kallsyms_->at_or_below(address);
    return symbol && symbol->address == address;
}

}  // namespace djprobe::loader
