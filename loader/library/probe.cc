// SPDX-License-Identifier: GPL-2.0
#include "library/probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/stop_signals.h"
#include "kernel/device.h"
#include "library/call.h"
#include "library/object.h"
#include "library/probeload.h"
#include "session/options.h"
#include "session/targets.h"

using namespace djprobe::loader;

namespace {

SiteSpec one_site(const char* text) {
    SiteSpec site = parse_site(text);
    if (site.is_glob())
        fail(ExitCode::kUsage, "'{}' is a pattern: libprobeload attaches to one function", text);
    return site;
}

AttachOptions options_of(const char* site, unsigned int flags, std::uint64_t cookie) {
    if ((flags & ~(PROBELOAD_RETURN | PROBELOAD_INT3)) != 0)
        fail(ExitCode::kUsage, "flags {:#x} are not all known", flags);
    AttachOptions options;
    options.at_returns = (flags & PROBELOAD_RETURN) != 0;
    if ((flags & PROBELOAD_INT3) != 0) options.mode = DJPROBE_MODE_INT3;
    options.cookie = cookie;
    if (site) options.sites.push_back(one_site(site));
    return options;
}

void check_has_site(const Program& program, const AttachOptions& options) {
    if (!options.sites.empty()) return;
    const std::optional<SiteSpec> site = site_of_section(program.section);
    if (site && site->is_glob())
        fail(ExitCode::kUsage, "program '{}': its SEC(\"{}\") names a pattern: give a site",
             program.name, program.section);
    if (site) return;
    fail(ExitCode::kUsage, "program '{}': its SEC(\"{}\") names no function: give a site",
         program.name, program.section);
}

std::unique_ptr<probeload_probe> attach(const std::vector<Program>& programs,
                                        const AttachOptions& options, const Device& device) {
    auto probe = std::make_unique<probeload_probe>();
    Symbolizer symbolizer;
    for (Target& target : choose_targets(options, programs)) {
        target.conditions = options.conditions;
        probe->attachments.push_back(Attachment::attach(target, options, device, symbolizer,
                                                        StopSignals(Process::kCallers)));
    }
    return probe;
}

std::unique_ptr<probeload_probe> attach_one(const Program& program, const AttachOptions& options) {
    check_has_site(program, options);
    return attach({program}, options, Device::open());
}

// A question has said where.
std::unique_ptr<probeload_probe> attach_answer(const probeload_object& object, const Answer& answer,
                                               const AttachOptions& asked) {
    if (!asked.sites.empty())
        fail(ExitCode::kUsage, "the question has said where its program goes: give no site");
    if (asked.at_returns)
        fail(ExitCode::kUsage, "PROBELOAD_RETURN: the question's place says so: \"FUNC:return\"");
    const Device device = Device::open();
    AttachOptions options = answer.attach(&device);
    options.mode = asked.mode;
    options.cookie = asked.cookie;
    object.know_symbols();
    return attach(object.programs(), options, device);
}

void add(const djprobe_total& total, probeload_counts& counts) {
    counts.hits += total.hits;
    counts.missed +=
        std::accumulate(std::begin(total.missed), std::end(total.missed), std::uint64_t{0});
    counts.jumps += total.states[DJPROBE_STATE_OPTIMIZED];
    counts.pending += total.states[DJPROBE_STATE_OPTIMIZING];
    counts.int3s += total.states[DJPROBE_STATE_ARMED];
    counts.out += total.states[DJPROBE_STATE_DISARMED] + total.states[DJPROBE_STATE_GONE];
}

// Each version has the first counter, and none will have as many. What is no size of the struct, as
// 0 or -1, would tell nothing, or spoil the caller's memory.
void check_size(std::size_t size) {
    if (size < sizeof(std::uint64_t) || size > 4096)
        fail(ExitCode::kUsage, "size {} is not that of a struct probeload_counts", size);
}

}  // namespace

int probeload_attach(const probeload_object* object, const char* program, const char* site,
                     unsigned int flags, std::uint64_t cookie, probeload_probe** probe) {
    return call([&] {
        probeload_probe*& made = given(probe, "probe");
        const AttachOptions options = options_of(site, flags, cookie);
        const probeload_object& from = given(object, "object");
        if (from.answer() && !program)
            made = attach_answer(from, *from.answer(), options).release();
        else
            made = attach_one(from.program(program), options).release();
        return 0;
    });
}

int probeload_attach_fd(int program_fd, const char* site, unsigned int flags, std::uint64_t cookie,
                        probeload_probe** probe) {
    return call([&] {
        probeload_probe*& made = given(probe, "probe");
        const AttachOptions options = options_of(&given(site, "site"), flags, cookie);
        Program program{nullptr, fmt::format("fd {}", program_fd), ""};
        program.given_fd = program_fd;
        made = attach_one(program, options).release();
        return 0;
    });
}

int probeload_wait(const probeload_probe* probe) {
    return call([&] {
        for (const Attachment& attachment : given(probe, "probe").attachments)
            attachment.wait(StopSignals(Process::kCallers));
        return 0;
    });
}

int probeload_count(const probeload_probe* probe, probeload_counts* counts, std::size_t size) {
    return call([&] {
        const std::vector<Attachment>& attachments = given(probe, "probe").attachments;
        given(counts, "counts");
        check_size(size);
        probeload_counts now{};
        for (const Attachment& attachment : attachments)
            add(attachment.total(), now);
        std::memset(counts, 0, size);
        std::memcpy(counts, &now, std::min(size, sizeof now));
        return 0;
    });
}

const char* probeload_describe(probeload_probe* probe) {
    const char* text = nullptr;
    call([&] {
        Symbolizer symbolizer;
        std::string& kept = given(probe, "probe").description;
        kept.clear();
        for (const Attachment& attachment : probe->attachments) {
            if (!kept.empty()) kept += '\n';
            kept += attached_line(attachment.report(), symbolizer);
        }
        text = kept.c_str();
        return 0;
    });
    return text;
}

int probeload_stop(probeload_probe* probe) {
    return call([&] {
        for (const Attachment& attachment : given(probe, "probe").attachments)
            if (!attachment.disable())
                fail(ExitCode::kFailure, "the module cannot take the probe out now: detach it");
        run_out();
        return 0;
    });
}

void probeload_detach(probeload_probe* probe) {
    delete probe;
}
