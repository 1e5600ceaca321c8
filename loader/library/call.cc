// SPDX-License-Identifier: GPL-2.0
#include "library/call.h"

#include <new>
#include <string>

#include "kernel/device.h"
#include "library/probeload.h"

namespace djprobe::loader {
namespace {

thread_local std::string message;
thread_local const char* shown = "";
thread_local int failure = 0;

static_assert(PROBELOAD_FAILURE == static_cast<int>(ExitCode::kFailure));
static_assert(PROBELOAD_USAGE == static_cast<int>(ExitCode::kUsage));
static_assert(PROBELOAD_BAD_FILE == static_cast<int>(ExitCode::kBadFile));
static_assert(PROBELOAD_COMPILE == static_cast<int>(ExitCode::kCompile));
static_assert(PROBELOAD_REJECTED == static_cast<int>(ExitCode::kRejected));
static_assert(PROBELOAD_NOT_LOADED == static_cast<int>(ExitCode::kNotLoaded));
static_assert(PROBELOAD_ABI_MISMATCH == static_cast<int>(ExitCode::kAbiMismatch));
static_assert(PROBELOAD_NO_PERMISSION == static_cast<int>(ExitCode::kNoPermission));
static_assert(PROBELOAD_NO_SUCH_SITE == static_cast<int>(ExitCode::kNoSuchSite));
static_assert(PROBELOAD_REFUSED_SITE == static_cast<int>(ExitCode::kRefusedSite));
static_assert(PROBELOAD_BUSY_SITE == static_cast<int>(ExitCode::kBusySite));
static_assert(PROBELOAD_WRONG_PROGRAM == static_cast<int>(ExitCode::kWrongProgram));

}  // namespace

int note_failure(ExitCode code, const char* text) noexcept {
    failure = static_cast<int>(code);
    try {
        message = text;
        shown = message.c_str();
    } catch (const std::bad_alloc&) {
        shown = "out of memory";
    }
    return -failure;
}

}  // namespace djprobe::loader

const char* probeload_version(void) {
    return DJPROBE_VERSION;
}

const char* probeload_message(void) {
    return djprobe::loader::shown;
}

int probeload_code(void) {
    return djprobe::loader::failure;
}

int probeload_check(void) {
    return djprobe::loader::call([] {
        djprobe::loader::Device::open();
        return 0;
    });
}
