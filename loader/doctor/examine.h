// SPDX-License-Identifier: GPL-2.0
// What may keep probeload from attaching on a machine. Each looks and changes nothing; it throws
// nothing, because what cannot be read is a finding, too.
#pragma once

#include "doctor/finding.h"
#include "doctor/machine.h"

namespace djprobe::loader::doctor {

/// The release, its configuration, BTF, ftrace and the JIT (kernel.cc).
Findings examine_kernel(const Machine& machine);
/// Is the module installed, signed, loaded, and the one that belongs to this probeload (module.cc)?
Findings examine_module(const Machine& machine);
/// What the kernel lets this process do: capabilities, lockdown, addresses (permissions.cc).
Findings examine_permissions(const Machine& machine);
/// Packages that some verbs use: clang, headers, DKMS, debug symbols (packages.cc).
Findings examine_packages(const Machine& machine);

}  // namespace djprobe::loader::doctor
