// SPDX-License-Identifier: GPL-2.0
// What probeload's exit status means: the one table for the code and --help. By a second signal:
// 128 and its number.
#pragma once

// X(number, constant, meaning)
#define DJPROBE_EXIT_CODES(X)                                                         \
    X(0, kOk, "done")                                                                 \
    X(1, kFailure, "the system failed us (out of memory, I/O error, ...)")            \
    X(2, kUsage, "wrong command line")                                                \
    X(3, kBadFile, "FILE cannot be read or is of the wrong kind")                     \
    X(4, kCompile, "clang is missing or rejects FILE")                                \
    X(5, kRejected, "the kernel's verifier or libbpf rejects the program")            \
    X(6, kNotLoaded, "no /dev/djprobe: the module djprobe is not loaded")             \
    X(7, kAbiMismatch, "module and probeload speak different ABIs")                   \
    X(8, kNoPermission, "not root, capabilities missing, or lockdown")                \
    X(9, kNoSuchSite, "no such function, offset or module, or several of a name")     \
    X(10, kRefusedSite, "the site must not be probed (blacklisted, .init text, ...)") \
    X(11, kBusySite, "another patcher has the site, or its module is leaving")        \
    X(12, kWrongProgram, "the program is not one that djprobe can run")               \
    X(13, kCommandFailed, "COMMAND of -c or TOOL of run could not be run")            \
    X(14, kIncomplete, "events were lost, or hits missed (with --strict)")

namespace djprobe::loader {

enum class ExitCode : int {
#define DJPROBE_EXIT_CODE_ENUM(number, constant, meaning) constant = (number),
    DJPROBE_EXIT_CODES(DJPROBE_EXIT_CODE_ENUM)
#undef DJPROBE_EXIT_CODE_ENUM
};

inline constexpr ExitCode kAllExitCodes[] = {
#define DJPROBE_EXIT_CODE_ITEM(number, constant, meaning) ExitCode::constant,
    DJPROBE_EXIT_CODES(DJPROBE_EXIT_CODE_ITEM)
#undef DJPROBE_EXIT_CODE_ITEM
};

}  // namespace djprobe::loader
