// SPDX-License-Identifier: GPL-2.0
#include "kernel/place.h"

#include "base/error.h"
#include "kernel/glob.h"
#include "kernel/similar_names.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kReturn = ":return";

// "vfs_read:retrun" is no function of a module vfs_read.
void check_return(const SiteSpec& site) {
    constexpr std::size_t kFewEdits = 2;
    if (site.is_glob() || !names_module(site.symbol)) return;
    const std::size_t colon = site.symbol.find(':');
    const std::string_view word = std::string_view(site.symbol).substr(colon + 1);
    if (kReturn.substr(1) == word && site.offset != 0)
        fail(ExitCode::kUsage, "{}: returns have no offset: write {}", site.str(), site.symbol);
    if (kReturn.substr(1) == word)
        fail(ExitCode::kUsage, "{0}{1}: '{1}' stands there twice: write {0}", site.symbol, kReturn);
    if (edit_distance(word, kReturn.substr(1), kFewEdits) > kFewEdits) return;
    fail(ExitCode::kUsage, "{}: did you mean {}{}?", site.symbol, site.symbol.substr(0, colon),
         kReturn);
}

}  // namespace

std::string Place::str() const {
    return site.str() + std::string(at_returns ? kReturn : "");
}

Place parse_place(std::string_view text) {
    Place place;
    place.at_returns = text.ends_with(kReturn);
    if (place.at_returns) text.remove_suffix(kReturn.size());
    place.site = parse_function(text);
    check_return(place.site);
    return place;
}

}  // namespace djprobe::loader
