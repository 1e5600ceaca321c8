// SPDX-License-Identifier: GPL-2.0
// Targets that the kernel's own mechanisms serve: without the module, or where it refuses a site.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "kernel/symbolizer.h"
#include "session/others.h"
#include "session/targets.h"

namespace djprobe::loader {

/// One program, wherever it is attached: the kernel counts the runs of programs, not of places.
struct KernelReport {
    std::string program;
    std::string places;     ///< "vfs_read, 41 functions like 'vfs_*'"
    std::string mechanism;  ///< "kprobe", "kretprobe", "kprobe.multi", "kretprobe.multi"
    bool at_returns = false;
    std::size_t probes = 0;             ///< how many functions or instructions
    std::optional<std::uint64_t> hits;  ///< none where the kernel does not let us count
    std::uint64_t missed = 0;           ///< as the kernel counts them
};

/// "vfs_read: hits 3, missed 0, by kprobe".
std::string kernel_report_text(const KernelReport& report);
nlohmann::ordered_json kernel_report_json(const KernelReport& report);

/// Before the programs are loaded: those for patterns must be of the kernel's type for that. All
/// places of such a program are attached so.
void aim_at_kernel(const std::vector<Target>& targets);

/// Attached as long as it lives.
class KernelProbes {
  public:
    /// Attaches and says so. Returns where: 0 where the kernel hides it, nothing where the place
    /// has been attached before. Throws Error: kNoSuchSite, kRefusedSite, kNoPermission.
    std::vector<std::uint64_t> attach(const Target& target, const AttachOptions& options,
                                      Symbolizer& symbolizer);
    /// The same with a cookie of its own for each place, from `first` on, for a program that counts
    /// its hits itself.
    std::vector<std::uint64_t> attach_numbered(const Target& target, std::uint64_t first,
                                               Symbolizer& symbolizer);

    [[nodiscard]] bool empty() const { return entries_.empty(); }
    [[nodiscard]] std::vector<KernelReport> reports() const;
    /// A program that has begun may still run, see run_out().
    void detach();

  private:
    struct Cookies {
        std::uint64_t first;
        bool are_numbers;  // each is one more than the one before
    };

    static bpf_link* link_one(const Target& target, const Cookies& cookies,
                              std::optional<std::uint64_t> address);
    static bpf_link* link_many(const Target& target, const Cookies& cookies,
                               const std::vector<std::uint64_t>& functions);
    std::vector<std::uint64_t> attach_with(const Target& target, const Cookies& cookies,
                                           Symbolizer& symbolizer);
    bool is_twin(const Target& target, std::optional<std::uint64_t> address);
    void note(const Target& target, const std::string& place, std::size_t probes, bpf_link* link);

    struct Entry {
        Program program;
        KernelReport report;
        std::vector<std::unique_ptr<bpf_link, Unlink>> links;
    };

    UniqueFd statistics_;  // the kernel counts as long as it is open
    std::vector<Entry> entries_;
    std::set<std::pair<std::string, std::uint64_t>> known_;  // programs and addresses
};

}  // namespace djprobe::loader
