// SPDX-License-Identifier: GPL-2.0
// The names of probes whose module may have been unloaded, and its place taken by another one.
#pragma once

#include <vector>

#include "kernel/kept_names.h"
#include "kernel/probe_state.h"
#include "kernel/site_spec.h"
#include "kernel/symbolizer.h"

namespace djprobe::loader {

/// Gives each probe the name that its twin in `named` has; one without a twin keeps its own.
void copy_names(const std::vector<ProbeState>& named, std::vector<ProbeState>& probes);

/// Gives a probe the name by which the user has asked for it.
void name_as_asked(const SiteSpec& site, ProbeState& probe);

/// Gives probes that are gone, or have no name, the names of the time when they were attached.
void name_gone(const Kallsyms& when_attached, std::vector<ProbeState>& probes);

/// Gives those that are gone the names that their process has kept, by address.
void name_kept(const SiteNames& kept, std::vector<ProbeState>& probes);

/// The names of those in modules, to be kept; of those that have none what the symbols say.
void add_module_names(const std::vector<ProbeState>& probes, Symbolizer& symbolizer,
                      SiteNames& names);

}  // namespace djprobe::loader
