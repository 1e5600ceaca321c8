// SPDX-License-Identifier: GPL-2.0
#include "run/start.h"

#include <sys/resource.h>

#include <system_error>

#include "base/error.h"

namespace djprobe::loader {

Tool start_tool(const RunOptions& options, Filter filter, Stdout output) {
    try {
        return Tool::start(options.tool, filter, output);
    } catch (const std::system_error& error) {
        fail(ExitCode::kCommandFailed, "{}", error.what());
    }
}

void raise_descriptor_limit() {
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace djprobe::loader
