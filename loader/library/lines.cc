// SPDX-License-Identifier: GPL-2.0
#include "base/error.h"
#include "debuginfo/listed_lines.h"
#include "kernel/site_spec.h"
#include "library/asked.h"
#include "library/call.h"
#include "library/probeload.h"

using namespace djprobe::loader;

const char* probeload_lines(const char* function, const char* debuginfo) {
    thread_local std::string text;
    const char* lines = nullptr;
    call([&] {
        const SiteSpec site = parse_one_function(&given(function, "function"), "probeload_lines()",
                                                 "probeload_measure() with \"count lines\"");
        if (site.offset != 0)
            fail(ExitCode::kUsage, "{}: probeload_lines() takes a whole function: {}", function,
                 site.whole_function_advice());
        const std::optional<std::string> from =
            is_given(debuginfo) ? std::optional<std::string>(debuginfo) : std::nullopt;
        text = lines_json(site.symbol, listed_lines(site.symbol, from));
        if (text.ends_with('\n')) text.pop_back();
        lines = text.c_str();
        return 0;
    });
    return lines;
}
