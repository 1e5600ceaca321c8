// SPDX-License-Identifier: GPL-2.0
// Every way to have a BPF program run at a function, and how each gets there and away again.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/programs.h"
#include "kernel/device.h"

namespace djprobe::loader {

enum class BenchMechanism {
    kDjprobeCount,
    kDjprobeJump,
    kDjprobeInt3,
    kDjprobeReturn,
    kDjprobeShadow,
    kKprobeInt3,
    kKprobeOptimized,
    kKprobeFtrace,
    kKretprobe,
    kKprobeMulti,
    kFentry,
    kFexit,
    kRawTracepoint,
};

/// One line of the table of mechanisms.
struct MechanismInfo {
    const char* name;
    std::string_view opcodes;  ///< what it may write first; empty: whatever it wants
    BenchMechanism mechanism;
    ProgramKind kind;
    bool anywhere;  ///< also in the middle of a function
    bool ours;

    /// Whether it can do what the program does. One runs no program: it only counts.
    [[nodiscard]] bool does(Body body) const {
        return mechanism != BenchMechanism::kDjprobeCount || counts(body);
    }
    /// Whether kprobes may be optimized while it is there.
    [[nodiscard]] bool optimized() const { return mechanism != BenchMechanism::kKprobeInt3; }
};

std::span<const MechanismInfo> mechanisms();
/// Null if there is none of that name.
const MechanismInfo* find_mechanism(std::string_view name);

/// Where to attach.
struct BenchSite {
    std::string name;  ///< "entry" or "middle"
    std::string function;
    std::uint64_t offset = 0;  ///< of the probed instruction from the function's first byte
    bool at_entry = true;
};

/// The raw tracepoint that the comparison uses, and the function that holds it.
inline constexpr const char* kTracepoint = "task_rename";
inline constexpr const char* kTracepointFunction = "__set_task_comm";

/// "__set_task_comm+0x9", or the tracepoint's name.
std::string place_of(const MechanismInfo& info, const BenchSite& site);

/// An attached program. The destructor detaches it.
class BenchProbe {
  public:
    /// Throws Error where the kernel or the module refuses. `device` null: our module is absent.
    static BenchProbe create(const MechanismInfo& info, const BenchSite& site,
                             const Programs& programs, Body body, const Device* device);

    /// What the module says of the probe; nothing for the kernel's own mechanisms.
    [[nodiscard]] std::optional<ProbeState> query() const;
    /// Sleeps until the module has made up its mind.
    void settle(const StopSignals& stop) const;

  private:
    struct Unlink {
        void operator()(bpf_link* link) const { bpf_link__destroy(link); }
    };

    std::unique_ptr<bpf_link, Unlink> link_;
    std::optional<Probe> probe_;
};

/// The kernel's switch for optimized kprobes. The destructor sets it as it was.
class KprobeOptimization {
  public:
    KprobeOptimization();
    ~KprobeOptimization();
    KprobeOptimization(const KprobeOptimization&) = delete;
    KprobeOptimization& operator=(const KprobeOptimization&) = delete;

    /// False where the kernel has no such switch: its kprobes stay int3.
    [[nodiscard]] bool exists() const noexcept { return exists_; }
    void set(bool on);

  private:
    bool exists_ = false;
    bool before_ = false;
    bool now_ = false;
};

}  // namespace djprobe::loader
