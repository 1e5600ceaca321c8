// SPDX-License-Identifier: GPL-2.0
#include "kernel/traceable.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/plural.h"
#include "kernel/glob.h"
#include "kernel/rights.h"

namespace djprobe::loader {
namespace {

constexpr const char* kLists[] = {"/sys/kernel/tracing/available_filter_functions",
                                  "/sys/kernel/debug/tracing/available_filter_functions"};

std::string read_available() {
    for (const char* const path : kLists) {
        std::ostringstream text;
        // An empty list has no text, which the stream takes for an error.
        if (std::ifstream list(path); list && text << list.rdbuf()) return text.str();
    }
    if (access(kLists[0], R_OK) != 0 && errno == EACCES)
        fail(ExitCode::kNoPermission, "{}: cannot be read: be root", kLists[0]);
    fail(ExitCode::kFailure,
         "{}: is missing: mount tracefs first (mount -t tracefs tracefs /sys/kernel/tracing)",
         kLists[0]);
}

// How often each "NAME" or "MODULE:NAME" is listed.
std::map<std::string, std::size_t> count_names(const std::string& available) {
    std::map<std::string, std::size_t> names;
    std::istringstream lines(available);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        std::string name = line.substr(0, space);
        if (const std::size_t bracket = line.find('['); bracket != line.npos)
            name.insert(0, line.substr(bracket + 1, line.find(']') - bracket - 1) + ':');
        ++names[name];
    }
    return names;
}

}  // namespace

std::vector<unsigned long> traceable_of(const std::vector<Symbol>& functions,
                                        const std::string& available) {
    const auto listed = count_names(available);
    std::map<std::string, std::size_t> there;
    for (const Symbol& function : functions)
        ++there[function.qualified_name()];
    std::vector<unsigned long> addresses;
    for (const Symbol& function : functions) {
        const auto found = listed.find(function.qualified_name());
        if (found != listed.end() && found->second == there[found->first])
            addresses.push_back(function.address);
    }
    return addresses;
}

std::vector<unsigned long> traceable_like(Symbolizer& symbolizer, const std::string& pattern) {
    const std::vector<Symbol> functions = functions_like(symbolizer.kallsyms(), pattern);
    if (functions.empty()) fail_none_like(symbolizer.kallsyms(), pattern);
    if (symbolizer.kallsyms().are_hidden())
        fail(ExitCode::kNoPermission, "'{}': /proc/kallsyms: addresses are hidden: {}", pattern,
             why_hidden());
    std::vector<unsigned long> addresses = traceable_of(functions, read_available());
    if (addresses.empty())
        fail(ExitCode::kRefusedSite,
             "'{}': none of the {} of such a name can be traced by the kernel", pattern,
             plural(functions.size(), "function"));
    return addresses;
}

}  // namespace djprobe::loader
