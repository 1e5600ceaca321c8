// SPDX-License-Identifier: GPL-2.0
#include "survey/image_functions.h"

#include <fmt/core.h>

#include <algorithm>

namespace djprobe::loader {

ImageFunctions::ImageFunctions(const KernelImage& image)
    : image_(image), text_{image.require("_stext"), image.require("_etext")} {
    for (const Symbol& symbol : image.symbols().symbols()) {
        if (!symbol.module.empty()) continue;
        places_.emplace(symbol.name, symbol.address);
        const bool is_first = functions_.empty() || functions_.back()->address != symbol.address;
        if (text_.contains(symbol.address) && is_first) functions_.push_back(&symbol);
    }
}

std::size_t ImageFunctions::find(u64 address) const {
    if (!text_.contains(address)) return functions_.size();
    const auto next = std::ranges::upper_bound(functions_, address, {}, &Symbol::address);
    if (next == functions_.begin()) return functions_.size();
    return static_cast<std::size_t>(std::prev(next) - functions_.begin());
}

bool ImageFunctions::start_of(u64 address, u64& start) const {
    const std::size_t index = find(address);
    if (index == functions_.size()) return false;
    start = functions_[index]->address;
    return true;
}

bool ImageFunctions::function_at(u64 address, Code& out) const {
    const std::size_t index = find(address);
    if (index == functions_.size()) return false;
    const u64 begin = functions_[index]->address;
    const u64 end = index + 1 < functions_.size() ? functions_[index + 1]->address : text_.end;
    const auto bytes = image_.bytes(begin, end);
    out = {begin, {bytes.data(), bytes.size()}};
    return !bytes.empty();
}

std::size_t ImageFunctions::addresses_of(const char* name, Span<u64> out) const {
    std::size_t count = 0;
    for (auto [at, end] = places_.equal_range(name); at != end; ++at, ++count)
        if (count < out.size()) out[count] = at->second;
    return count;
}

const char* ImageFunctions::name_of(u64 function) const {
    const std::size_t index = find(function);
    name_ = index == functions_.size() ? std::string() : std::string(functions_[index]->name);
    return name_.c_str();
}

void reject_lacking(const KernelImage& image, const djprobe_root& lacking) {
    image.reject(fmt::format("has no {}{}, so that no site is known to be safe", lacking.name,
                             *lacking.of ? fmt::format(" ({})", lacking.of) : ""));
}

}  // namespace djprobe::loader
