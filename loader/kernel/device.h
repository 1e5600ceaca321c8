// SPDX-License-Identifier: GPL-2.0
// /dev/djprobe: the only way to the module. Thin: each call is one ioctl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stop_signals.h"
#include "base/unique_fd.h"
#include "djprobe.h"
#include "kernel/probe_state.h"
#include "kernel/site_spec.h"
#include "kernel/symbolizer.h"

namespace djprobe::loader {

/// What one attachment has put into the kernel, one probe or many: lives until it is destroyed.
class Probe {
  public:
    explicit Probe(UniqueFd fd) { fds_.push_back(std::move(fd)); }

    /// Takes the other's probes over, behind its own.
    void append(Probe&& other);

    /// Sleeps until the optimizer has decided; false when a signal came first.
    bool wait(const StopSignals& stop) const;
    /// Takes its probes out of the text; their counters stay. A program that has begun may still
    /// run, see run_out(). False if the module cannot now.
    bool disable() const noexcept;
    /// Sums over its probes.
    [[nodiscard]] djprobe_total total() const;
    /// State and counters now, of all its probes, in one call: code that it runs may be probed.
    /// Names take time, and the kernel's code that finds them may be probed as well.
    [[nodiscard]] std::vector<ProbeState> queries(bool names) const;
    /// The same without names, one after the other, some in a call: of many probes all answers at
    /// once would take much memory.
    void visit(const std::function<void(const ProbeState& answer)>& look) const;
    /// How often each probe was hit.
    [[nodiscard]] std::vector<std::uint64_t> hits() const;
    /// For poll(), where one request has made them all.
    [[nodiscard]] int fd() const noexcept { return fds_.front().get(); }

  private:
    std::vector<UniqueFd> fds_;  // one for each request
};

/// Counters lie one behind the other in the values of their map, so many in each: a value per CPU
/// has room for four times as many.
inline constexpr std::size_t kCountersPerValue = 1024;
/// What the module calls the counter of this index.
constexpr std::uint64_t counter_name(std::size_t index) {
    return DJPROBE_COUNTER(index / kCountersPerValue,
                           index % kCountersPerValue * sizeof(std::uint64_t));
}

/// What DJPROBE_IOC_ATTACH wants to know beside the site.
struct AttachRequest {
    int prog_fd;                 ///< with DJPROBE_ATTACH_COUNT the counters' map
    std::string_view prog_name;  ///< for messages
    std::uint64_t cookie;        ///< with DJPROBE_ATTACH_COUNT the index of the first counter
    djprobe_mode mode;
    std::uint32_t flags = 0;  ///< enum djprobe_attach_flags
    int entry_prog_fd = 0;    ///< with DJPROBE_ATTACH_SESSION
    /// For messages about a whole attach_many(): what the user has asked for.
    std::string_view pattern{};
    /// With DJPROBE_ATTACH_COUNT: what each hit does; none: it increments the counter. Without:
    /// conditions in front of the program.
    std::span<const djprobe_action> actions{};
    int times_fd = 0;  ///< with TIME or ELAPSED among them: the map of tasks' times
};

/// One of many sites.
struct ManySite {
    std::uint64_t address;
    std::uint32_t flags;  ///< enum djprobe_attach_flags
};

/// Why one of many sites was refused.
struct RefusedSite {
    std::size_t index;
    std::uint32_t reason;
};

/// Sleeps until every program that was running has ended.
void run_out() noexcept;

/// There while the module is loaded.
inline constexpr const char* kLoadedModule = "/sys/module/djprobe";

class Device {
  public:
    /// Opens the device and compares ABIs. Throws Error when the module is not there, not ours to
    /// use or of another ABI.
    static Device open(const char* path = DJPROBE_DEVICE, const char* module = kLoadedModule);

    /// Throws Error with the module's reason in words.
    Probe attach(const SiteSpec& site, const AttachRequest& request, Symbolizer& symbolizer) const;

    /// One program at all sites, in one request: all but those that are refused, which `refused`
    /// tells. None when all are. Each site has flags of its own. Throws Error where no site is at
    /// fault.
    std::optional<Probe> attach_most(std::span<const ManySite> sites, const AttachRequest& request,
                                     std::vector<RefusedSite>& refused,
                                     Symbolizer& symbolizer) const;

    /// DJPROBE_IOC_ATTACH_MANY: the probe fd, or none with errno and what the module has written
    /// into the request and the sites. Sets the list's pointer and count.
    UniqueFd attach_sites(std::vector<djprobe_site>& sites, djprobe_attach_many& request) const;

    /// An event fd, see DJPROBE_IOC_EVENT; none with errno.
    [[nodiscard]] UniqueFd make_event(djprobe_event_kind kind) const;

    /// The module's decision about a site, as explain() asks for it, without an error: a place that
    /// is none is refused, too.
    [[nodiscard]] djprobe_explain judge(const SiteSpec& site, std::uint32_t flags) const;

    /// The module's own decision about a site, or with flags about a function's returns; nothing
    /// is touched. Throws as attach() where there is no such site.
    [[nodiscard]] djprobe_explain explain(const SiteSpec& site, Symbolizer& symbolizer,
                                          std::uint32_t flags = 0) const;

    /// Puts the text at `address` as it is without probes into `bytes`, and returns how
    /// many bytes there are of it: none where that is no text, or the module cannot tell.
    [[nodiscard]] std::size_t read_text(std::uint64_t address, std::span<std::uint8_t> bytes) const;

    /// Sets those of `change` (enum djprobe_switches) to be on that are in `on`, the others off;
    /// returns all that are on then. Throws Error where lockdown forbids it.
    std::uint32_t set_switches(std::uint32_t change, std::uint32_t on) const;

  private:
    explicit Device(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
    /// attach() with actions.
    Probe attach_acting(const SiteSpec& site, const AttachRequest& request,
                        Symbolizer& symbolizer) const;
    bool ask(const SiteSpec& site, std::uint32_t flags, djprobe_explain& explain) const;

    UniqueFd fd_;
};

/// The number of an event fd, which no other one has.
std::optional<std::uint64_t> event_number(const UniqueFd& event);
/// Lets an event fd hold a probe fd's probes; false with errno.
bool hold(const UniqueFd& event, const Probe& probe);
/// Lets the probes of a probe fd keep a file of the kernel's, see DJPROBE_IOC_KEEP; false with
/// errno.
bool keep(const Probe& probe, const UniqueFd& file);

/// A line for each of `on`'s switches (enum djprobe_switches) that is off, with what puts it on.
std::vector<std::string> what_is_off(std::uint32_t on);

/// Throws Error(kAbiMismatch) unless the module speaks our ABI.
void check_abi(std::uint32_t module_abi);

}  // namespace djprobe::loader
