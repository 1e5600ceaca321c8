// SPDX-License-Identifier: GPL-2.0
// One run of `probeload attach`, from the file to the summary.
#pragma once

#include "kernel/device.h"
#include "session/options.h"
#include "session/views.h"

namespace djprobe::loader {

/// Returns the exit status. Throws Error; whatever was attached is then detached.
int run_attach(const AttachOptions& options, const Views& views = {});

/// Says so where no test has run on this kernel.
void note_untested_kernel();
/// The module's device, and that. Throws Error as Device::open() does.
Device open_noted_device();
/// Says which of the module's switches are off.
void tell_what_is_off(const Device& device);

}  // namespace djprobe::loader
