// SPDX-License-Identifier: GPL-2.0
// The object's programs that are no probes: libbpf attaches them, beside ours.
#pragma once

#include <memory>
#include <vector>

#include "kernel/symbolizer.h"
#include "object/program.h"
#include "session/options.h"

namespace djprobe::loader {

struct Unlink {
    void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

/// Attached as long as it lives.
struct OtherProgram {
    Program program;
    std::unique_ptr<bpf_link, Unlink> link;
};

/// Before the object is loaded: aims them where the command line says, and tells which of their
/// places the kernel does not have. Returns those that can be loaded. Throws Error: kUsage,
/// kNoSuchSite.
std::vector<Program> aim_others(const AttachOptions& options, const std::vector<Program>& programs,
                                Symbolizer& symbolizer);

/// Those whose section libbpf cannot attach by itself are told and left out. Throws Error:
/// kNoSuchSite, kRejected.
std::vector<OtherProgram> attach_others(const AttachOptions& options,
                                        const std::vector<Program>& programs);

}  // namespace djprobe::loader
