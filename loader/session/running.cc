// SPDX-License-Identifier: GPL-2.0
#include "session/running.h"

#include "base/error.h"
#include "base/say.h"
#include "session/backend.h"

namespace djprobe::loader {
namespace {

// Throws it, unless its place may be left out.
void leave_out(const Error& error, const Target& target, const AttachOptions& options) {
    const bool is_missing = error.code() == ExitCode::kNoSuchSite;
    if (!is_missing && error.code() != ExitCode::kRefusedSite) throw Error(error);
    if (options.skip_unsupported) {
        say("probeload: left out: program '{}': {}\n", target.program.name, error.what());
        return;
    }
    if (!is_missing || !target.by_section) throw Error(error);
    fail(error.code(),
         "{}; bind program '{}' to another place with --at {}=SYM, or leave it out by "
         "--skip-unsupported",
         error.what(), target.program.name, target.program.name);
}

// Of a pattern, and of returns, djprobe refuses for other reasons.
bool may_serve(const Error& error, const Target& target, const AttachOptions& options,
               const Device& device) {
    // The kernel's probe has no conditions.
    return error.code() == ExitCode::kRefusedSite && options.backend == Backend::kAuto &&
           target.conditions.empty() && !target.site.is_glob() && !target.at_returns &&
           is_safe_for_kprobe(device.judge(target.site, 0).reason);
}

}  // namespace

Running::Running(const AttachOptions& options, const std::vector<Target>& targets,
                 const std::vector<Program>& others, const Device* device, Symbolizer& symbolizer,
                 const StopSignals& stop)
    : sessions_(options.session && options.tells_of_no_return) {
    attachments_.reserve(targets.size());
    for (const Target& target : targets)
        attach(target, options, device, symbolizer, stop);
    others_ = attach_others(options, others);
    if (attachments_.empty() && kernel_.empty() && others_.empty())
        fail(ExitCode::kNoSuchSite, "{}: nothing is left to attach", options.file.string());
}

void Running::attach(const Target& target, const AttachOptions& options, const Device* device,
                     Symbolizer& symbolizer, const StopSignals& stop) {
    try {
        if (device) return attach_by_djprobe(target, options, *device, symbolizer, stop);
        stop.check();
        kernel_.attach(target, options, symbolizer);
    } catch (const Error& error) {
        leave_out(error, target, options);
    }
}

void Running::attach_instead(const Error& why, const Target& target, const AttachOptions& options,
                             Symbolizer& symbolizer) {
    try {
        kernel_.attach(target, options, symbolizer);
    } catch (const Error& error) {
        fail(why.code(), "{}; {}", why.what(), error.what());
    }
    say("probeload: {}: the kernel's own probe takes its place\n", why.what());
}

void Running::attach_by_djprobe(const Target& target, const AttachOptions& options,
                                const Device& device, Symbolizer& symbolizer,
                                const StopSignals& stop) {
    try {
        attachments_.push_back(Attachment::attach(target, options, device, symbolizer, stop));
    } catch (const Error& error) {
        if (!may_serve(error, target, options, device)) throw;
        return attach_instead(error, target, options, symbolizer);
    }
    // By its name and by its address it is one place, and each hit would count twice.
    const AttachmentReport last = attachments_.back().report();
    const std::uint64_t address = last.covers == Covers::kGlob ? 0 : last.probes.front().address;
    if (address != 0 && !known_.emplace(last.program, last.covers, address).second) {
        say("probeload: {} is given twice: attached once\n", target.site.str());
        return attachments_.pop_back();
    }
    if (target.entry) sessions_.add(*target.entry, target.program, attachments_.back());
}

std::vector<AttachmentReport> Running::snapshot(Symbolizer& symbolizer) const {
    std::vector<AttachmentReport> reports;
    for (const Attachment& attachment : attachments_)
        reports.push_back(attachment.snapshot(symbolizer));
    return reports;
}

std::vector<AttachmentReport> Running::stop(Symbolizer& symbolizer) {
    std::vector<AttachmentReport> reports;
    for (const Attachment& attachment : attachments_)
        reports.push_back(attachment.report());
    for (const Attachment& attachment : attachments_)
        attachment.disable();
    kernel_.detach();
    for (OtherProgram& other : others_)
        other.link.reset();
    run_out();
    for (std::size_t i = 0; i < attachments_.size(); ++i)
        attachments_[i].complete(reports[i], symbolizer);
    return reports;
}

}  // namespace djprobe::loader
