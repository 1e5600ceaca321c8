// SPDX-License-Identifier: GPL-2.0
#include "session/site_names.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "session/probe_words.h"

namespace djprobe::loader {
namespace {

template <std::size_t N>
void assign(char (&to)[N], std::string_view name) {
    std::ranges::fill(to, '\0');
    std::ranges::copy(name.substr(0, N - 1), to);
}

}  // namespace

void copy_names(const std::vector<djprobe_query>& named, std::vector<djprobe_query>& probes) {
    for (std::size_t i = 0; i < std::min(named.size(), probes.size()); ++i) {
        probes[i].offset = named[i].offset;
        std::ranges::copy(named[i].symbol, probes[i].symbol);
        std::ranges::copy(named[i].module, probes[i].module);
    }
}

void name_as_asked(const SiteSpec& site, djprobe_query& probe) {
    const std::string_view name = site.symbol;
    const std::size_t colon = name.find(':');
    assign(probe.module, colon == name.npos ? "" : name.substr(0, colon));
    assign(probe.symbol, colon == name.npos ? name : name.substr(colon + 1));
    probe.offset = site.offset;
}

void name_gone(const Kallsyms& when_attached, std::vector<djprobe_query>& probes) {
    for (djprobe_query& probe : probes) {
        if (probe.state != DJPROBE_STATE_GONE && probe.symbol[0]) continue;
        const Symbol* const was = when_attached.at_or_below(probe.address);
        assign(probe.symbol, was ? was->name : "");
        assign(probe.module, was ? was->module : "");
        probe.offset = was ? probe.address - was->address : 0;
    }
}

void name_kept(const SiteNames& kept, std::vector<djprobe_query>& probes) {
    for (djprobe_query& probe : probes) {
        const auto found = kept.find(probe.address);
        if (probe.state != DJPROBE_STATE_GONE || found == kept.end()) continue;
        const std::string_view name = found->second;
        const std::size_t colon = name.find(':'), plus = name.rfind("+0x");
        if (colon == name.npos || plus == name.npos || plus < colon) continue;
        std::from_chars(name.data() + plus + 3, name.data() + name.size(), probe.offset, 16);
        assign(probe.module, name.substr(0, colon));
        assign(probe.symbol, name.substr(colon + 1, plus - colon - 1));
    }
}

void add_module_names(const std::vector<djprobe_query>& probes, Symbolizer& symbolizer,
                      SiteNames& names) {
    for (const djprobe_query& probe : probes) {
        if (probe.address == 0) continue;
        const std::string name =
            probe.symbol[0] ? site_name(probe) : symbolizer.describe(probe.address);
        if (name.find(':') != name.npos) names[probe.address] = name;
    }
}

}  // namespace djprobe::loader
