// SPDX-License-Identifier: GPL-2.0
// One call of the C ABI: nothing is thrown out of it, and nothing is printed.
#pragma once

#include <exception>

#include "base/error.h"
#include "base/progress.h"
#include "base/say.h"

namespace djprobe::loader {

/// Keeps the text for probeload_message(); returns minus the code.
int note_failure(ExitCode code, const char* text) noexcept;

/// What the work returns, or minus the code of what it has thrown.
template <typename Work>
int call(const Work& work) noexcept {
    try {
        Progress::silence();
        const KeptWords words;
        return work();
    } catch (const Error& error) {
        return note_failure(error.code(), error.what());
    } catch (const std::exception& error) {
        return note_failure(ExitCode::kFailure, error.what());
    }
}

/// Throws Error(kUsage) for a null pointer; `name` is the parameter's.
template <typename T>
T& given(T* pointer, const char* name) {
    if (!pointer) fail(ExitCode::kUsage, "{} is null", name);
    return *pointer;
}

}  // namespace djprobe::loader
