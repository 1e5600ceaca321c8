// SPDX-License-Identifier: GPL-2.0
// Puts a mechanism into the text and takes it out again, and is sure of both.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/stop_signals.h"
#include "bench/mechanism.h"
#include "bench/text_watch.h"
#include "kernel/symbolizer.h"

namespace djprobe::loader {

/// A function's bytes by the symbol table.
struct FunctionRange {
    std::uint64_t address;
    std::size_t size;
};

class Installed;

/// What the comparison needs of the kernel. One at a time.
class Rig {
  public:
    /// Works without our module and without /proc/kcore, with a notice for each. Throws Error
    /// where the caller may not do this at all.
    explicit Rig(const StopSignals& stop);

    /// Attaches and waits until the text shows it. Throws Error with the reason where the kernel
    /// or the module does not offer it.
    Installed install(const MechanismInfo& info, const BenchSite& site, Body body);

    /// Throws Error(kNoSuchSite).
    FunctionRange function(const std::string& name);
    /// The function's bytes as they were before the first install(); none without /proc/kcore.
    const std::vector<std::uint8_t>* text_of(const std::string& function);

    [[nodiscard]] const Device* device() const noexcept { return device_ ? &*device_ : nullptr; }
    [[nodiscard]] const StopSignals& stop() const noexcept { return stop_; }
    [[nodiscard]] Symbolizer& symbolizer() noexcept { return symbolizer_; }
    [[nodiscard]] const KprobeOptimization& optimization() const noexcept { return optimization_; }
    [[nodiscard]] const std::vector<std::string>& notices() const noexcept { return notices_; }

  private:
    friend class Installed;

    void refuse_unsafe(const BenchSite& site);
    Programs& programs(const MechanismInfo& info, const BenchSite& site);
    const TextWatch* watch(const std::string& function);

    const StopSignals& stop_;
    std::optional<Device> device_;
    std::optional<Kcore> text_;
    KprobeOptimization optimization_;
    Symbolizer symbolizer_;
    std::map<std::string, TextWatch> watches_;
    std::map<std::string, FunctionRange> functions_;
    /// By kind and function; a kind that does not load is not tried again.
    std::map<std::pair<ProgramKind, std::string>, std::variant<Programs, Error>> programs_;
    std::vector<std::string> notices_;
};

/// An attached mechanism that is in the text.
class Installed {
  public:
    Installed(Installed&&) noexcept = default;

    /// What stands in the text, as "jmp +0x9"; "unseen" without /proc/kcore.
    [[nodiscard]] const std::string& seen() const noexcept { return seen_; }
    /// Throws Error unless the text still shows what it showed at first.
    void expect_unchanged() const;
    [[nodiscard]] Programs& programs() const noexcept { return *programs_; }

    /// Hits since the last call, by the program's own count, or our module's; none for an empty
    /// program of the kernel's own mechanisms.
    std::optional<std::uint64_t> take_hits();
    /// As take_hits(), where the number is not known: looking at the text may be a hit itself.
    void forget_hits();
    /// Runs of the program while `work` runs, by the kernel's statistics, which cost time
    /// themselves. None for ours, which counts by itself, and where the kernel has no statistics.
    std::optional<std::uint64_t> count_runs(const std::function<void()>& work) const;

    /// Detaches and waits until the text is as before. Throws Error when it does not get so.
    void remove();

  private:
    friend class Rig;

    Installed(BenchProbe attachment, Programs& programs, Body body, const TextWatch* watch)
        : attachment_(std::move(attachment)), programs_(&programs), body_(body), watch_(watch) {}
    void await_in_text(const MechanismInfo& info, const BenchSite& site, Rig& rig);

    std::optional<BenchProbe> attachment_;
    Programs* programs_;
    Body body_;
    const TextWatch* watch_;
    std::optional<Patch> patch_;
    std::string seen_ = "unseen";
    std::uint64_t hits_ = 0;
};

}  // namespace djprobe::loader
