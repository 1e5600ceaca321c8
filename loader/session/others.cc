// SPDX-License-Identifier: GPL-2.0
#include "session/others.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "object/filter_handlers.h"
#include "session/place_option.h"

namespace djprobe::loader {
namespace {

std::string title(const Program& program) {
    return fmt::format("program '{}' (SEC \"{}\")", program.name, program.section);
}

bool is_typed(const Program& program) {
    return bpf_program__type(program.handle) == BPF_PROG_TYPE_TRACING;
}

std::string target_of(const Program& program) {
    return program.places.empty() ? std::string(place_of_section(program.section))
                                  : program.places.front();
}

// The function whose absence means that the kernel has no such place; "" where only the kernel
// itself knows.
std::string needed_function(const Program& program) {
    const std::string_view type = type_of_section(program.section);
    const std::string target = target_of(program);
    if (target.empty() || is_user_place(target)) return "";
    if (type == "tp_btf" || type == "raw_tp" || type == "raw_tracepoint")
        return "__traceiter_" + target;
    return type.starts_with("fentry") || type.starts_with("fexit") ? target : "";
}

// Tells why, or fails for it.
void leave_out(const AttachOptions& options, ExitCode code, const std::string& why) {
    if (!options.skip_unsupported) fail(code, "{}; --skip-unsupported leaves it out", why);
    say("probeload: left out: {}\n", why);
}

bool set_target(const Program& program) {
    return bpf_program__set_attach_target(program.handle, 0, target_of(program).c_str()) == 0;
}

void check_place(const Program& program) {
    if (!is_typed(program))
        fail(ExitCode::kUsage, "--at {}=...: {} cannot be bound to another place", program.name,
             title(program));
    if (program.places.size() > 1)
        fail(ExitCode::kUsage, "--at {}=...: {} has one place, not {}", program.name,
             title(program), program.places.size());
}

// False where the kernel's types have no such place.
bool aim(const Program& program) {
    const std::string target = target_of(program);
    if (is_user_place(target)) return true;
    if (!program.places.empty()) {
        check_place(program);
        return set_target(program);
    }
    // Behind a filter libbpf leaves it to us to say where these go.
    const bool is_ours = is_filtered_section(type_of_section(program.section));
    return !is_typed(program) || !is_ours || target.empty() || set_target(program);
}

bpf_link* attach_in_user_space(const Program& program, const std::string& place) {
    const std::size_t colon = place.rfind(':');
    const std::string file = place.substr(0, colon), function = place.substr(colon + 1);
    const bool at_return = is_return_section(program.section) ||
                           type_of_section(program.section).starts_with("uretprobe");
    LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_return, .func_name = function.c_str());
    return bpf_program__attach_uprobe_opts(program.handle, -1, file.c_str(), 0, &options);
}

// libbpf says of a function what it would say of a file.
std::string why_not(const std::string& place, int error) {
    const bool no_function = error == ENOENT && is_user_place(place) &&
                             std::filesystem::exists(place.substr(0, place.rfind(':')));
    return no_function ? "its symbols have no such function" : std::strerror(error);
}

void attach_at(const AttachOptions& options, const Program& program, const std::string& place,
               std::vector<OtherProgram>& attached) {
    bpf_link* const link = is_user_place(place) ? attach_in_user_space(program, place)
                                                : bpf_program__attach(program.handle);
    const int error = errno;
    if (link) {
        attached.push_back({program, std::unique_ptr<bpf_link, Unlink>(link)});
        say("attached {} by libbpf\n", title(program));
    } else if (error == EOPNOTSUPP) {
        say("probeload: {}: libbpf cannot attach it by itself: it does not run\n", title(program));
    } else {
        const bool is_missing = error == ENOENT || error == ESRCH;
        leave_out(options, is_missing ? ExitCode::kNoSuchSite : ExitCode::kRejected,
                  fmt::format("{}: libbpf cannot attach it{}{}: {}", title(program),
                              place.empty() ? "" : " to ", place, why_not(place, error)));
    }
}

}  // namespace

std::vector<Program> aim_others(const AttachOptions& options, const std::vector<Program>& programs,
                                Symbolizer& symbolizer) {
    std::vector<Program> aimed;
    for (const Program& program : programs) {
        const std::string function = needed_function(program);
        const Kallsyms& kallsyms = symbolizer.kallsyms();
        if (!function.empty() && !kallsyms.symbols().empty() && kallsyms.find(function).empty()) {
            leave_out(options, ExitCode::kNoSuchSite,
                      fmt::format("{}: the kernel has no '{}': bind it to another one with --at "
                                  "{}=SYM",
                                  title(program), target_of(program), program.name));
            continue;
        }
        if (aim(program))
            aimed.push_back(program);
        else
            leave_out(options, ExitCode::kNoSuchSite,
                      fmt::format("{}: the kernel's types have no '{}'", title(program),
                                  target_of(program)));
    }
    return aimed;
}

std::vector<OtherProgram> attach_others(const AttachOptions& options,
                                        const std::vector<Program>& programs) {
    std::vector<OtherProgram> attached;
    for (const Program& program : programs) {
        if (program.places.empty()) attach_at(options, program, "", attached);
        for (const std::string& place : program.places)
            attach_at(options, program, place, attached);
    }
    return attached;
}

}  // namespace djprobe::loader
