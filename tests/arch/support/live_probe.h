// SPDX-License-Identifier: GPL-2.0
// Probes on code that threads of this process are running: the patch protocol on the real CPU.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "arch/x86/detour/detour.h"
#include "arch/x86/detour/patch.h"
#include "support/arena.h"

namespace djprobe::test {

/// The text of an arena; other threads' cores are synchronized by membarrier().
class LivePort {
  public:
    /// Whether this kernel offers what sync_cores() needs; registers the process for it.
    static bool is_supported();

    explicit LivePort(Arena& arena) : arena_(arena) {}
    void write(u64 address, Span<const u8> bytes);
    void sync_cores();
    bool matches(u64 address, Span<const u8> bytes) const;

  private:
    Arena& arena_;
};

static_assert(x86::TextPort<LivePort>);

/// Where the site is in its code, and what forces a tactic on it.
struct LiveSite {
    size_t offset = 0;
    u8 tactics = x86::tactic_bit(x86::Tactic::Window);
    std::vector<size_t> landings;  ///< offsets where control may arrive from afar
};

/// One site whose hits are counted. A SIGTRAP handler is its int3 path, as the kernel's would be.
/// One at a time in a process.
class LiveProbe {
  public:
    /// For a site of the code, which is put at the arena's start. Throws std::runtime_error when it
    /// cannot have a jump.
    LiveProbe(Arena& arena, const Bytes& code, const LiveSite& site = {});
    ~LiveProbe();
    LiveProbe(const LiveProbe&) = delete;

    // Transitions of the protocol, each after a check of the text; false when that failed.
    // quiescence() returns when every thread has left the site's region.
    bool arm();
    bool optimize(const std::function<void()>& quiescence);
    bool unoptimize(const std::function<void()>& quiescence);
    bool disarm();

    u64 int3_hits() const { return int3_hits_; }
    u64 jump_hits() const { return jump_hits_; }

    const x86::Plan& plan() const { return plan_; }

    // For the int3 path and the detour.
    u64 site() const { return plan_.site; }
    /// Where to go on after an int3 at `address`, which counts when it is the site; 0: not ours.
    u64 trap(u64 address);
    void hit_jump() { ++jump_hits_; }

  private:
    bool holds(x86::TextForm form);
    bool is_padding_whole() const;
    bool is_slide() const { return plan_.anchor != plan_.site; }

    Arena& arena_;
    LivePort port_;
    x86::Plan plan_;
    x86::DetourLayout layout_;
    x86::PatchSite breakpoint_;
    x86::PatchSite patch_;         ///< the jump, at the anchor
    x86::PatchSite board_;         ///< of length 0 when there is none
    std::atomic<u64> resume_ = 0;  ///< where an int3 hit goes on
    std::atomic<u64> int3_hits_ = 0;
    std::atomic<u64> jump_hits_ = 0;
};

/// Threads that call something all the time and pass a point outside of it after every call.
class Workers {
  public:
    /// @param call gets the number of the call; false counts as wrong
    Workers(size_t threads, std::function<bool(u64)> call);
    ~Workers() { stop(); }
    Workers(const Workers&) = delete;

    /// Returns when each thread has passed the point since it was called.
    void quiescence();
    void stop();
    u64 calls() const;  ///< exact once stopped
    u64 wrong() const { return wrong_; }

  private:
    struct Worker {
        std::atomic<u64> passes = 0;
        std::thread thread;
    };
    std::function<bool(u64)> call_;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> waiting_ = false;
    std::atomic<u64> wrong_ = 0;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace djprobe::test
