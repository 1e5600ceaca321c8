// SPDX-License-Identifier: GPL-2.0
#include "object/load_error.h"

#include <cerrno>
#include <cstring>

#include "base/descriptors.h"
#include "base/error.h"
#include "kernel/rights.h"

namespace djprobe::loader {

void fail_load(const LibbpfLog& log, int error) {
    if (error == EPERM)
        fail(ExitCode::kNoPermission, "the kernel does not permit to load BPF programs: {}",
             why_denied(kToProbe));
    if (error == EMFILE || error == ENFILE) fail(ExitCode::kFailure, "{}", out_of_descriptors());
    if (error == ENOMEM) fail(ExitCode::kFailure, "loading BPF programs: {}", std::strerror(error));
    const std::string verifier = verifier_tail(log.text(), 1);
    if (!verifier.empty()) fail(ExitCode::kRejected, "{}", verifier);
    const std::string warning = first_warning(log.text());
    fail(ExitCode::kRejected, "{}", warning.empty() ? std::strerror(error) : warning);
}

}  // namespace djprobe::loader
