// SPDX-License-Identifier: GPL-2.0
#include "session/site_names.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "session/probe_words.h"

namespace djprobe::loader {
void copy_names(const std::vector<ProbeState>& named, std::vector<ProbeState>& probes) {
    for (std::size_t i = 0; i < std::min(named.size(), probes.size()); ++i) {
        probes[i].offset = named[i].offset;
        probes[i].symbol = named[i].symbol;
        probes[i].module = named[i].module;
    }
}

void name_as_asked(const SiteSpec& site, ProbeState& probe) {
    const std::string_view name = site.symbol;
    const std::size_t colon = name.find(':');
    probe.module = colon == name.npos ? "" : name.substr(0, colon);
    probe.symbol = colon == name.npos ? name : name.substr(colon + 1);
    probe.offset = site.offset;
}

void name_gone(const Kallsyms& when_attached, std::vector<ProbeState>& probes) {
    for (ProbeState& probe : probes) {
        if (probe.state != DJPROBE_STATE_GONE && !probe.symbol.empty()) continue;
        const Symbol* const was = when_attached.at_or_below(probe.address);
        probe.symbol = was ? was->name : "";
        probe.module = was ? was->module : "";
        probe.offset = was ? probe.address - was->address : 0;
    }
}

void name_kept(const SiteNames& kept, std::vector<ProbeState>& probes) {
    for (ProbeState& probe : probes) {
        const auto found = kept.find(probe.address);
        if (probe.state != DJPROBE_STATE_GONE || found == kept.end()) continue;
        const std::string_view name = found->second;
        const std::size_t colon = name.find(':'), plus = name.rfind("+0x");
        if (colon == name.npos || plus == name.npos || plus < colon) continue;
        std::from_chars(name.data() + plus + 3, name.data() + name.size(), probe.offset, 16);
        probe.module = name.substr(0, colon);
        probe.symbol = name.substr(colon + 1, plus - colon - 1);
    }
}

void add_module_names(const std::vector<ProbeState>& probes, Symbolizer& symbolizer,
                      SiteNames& names) {
    for (const ProbeState& probe : probes) {
        if (probe.address == 0) continue;
        const std::string name =
            probe.symbol.empty() ? symbolizer.describe(probe.address) : site_name(probe);
        if (name.find(':') != name.npos) names[probe.address] = name;
    }
}

}  // namespace djprobe::loader
