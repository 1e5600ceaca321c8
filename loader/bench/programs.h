// SPDX-License-Identifier: GPL-2.0
// The benchmark's BPF programs: the same bodies for each kind of attachment.
#pragma once

#include <bpf/libbpf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "events/ring.h"

namespace djprobe::loader {

/// What a program does on a hit.
enum class Body { kEmpty, kCounter, kRingbuf };
inline constexpr std::array<Body, 3> kBodies = {Body::kEmpty, Body::kCounter, Body::kRingbuf};
const char* body_name(Body body);

/// How the kernel calls it.
enum class ProgramKind { kKprobe, kMulti, kFentry, kFexit, kRawTracepoint };

/// The three programs of one kind, loaded, with maps of their own.
class Programs {
  public:
    /// `function`: what fentry and fexit are for. Throws Error with the kernel's reason.
    static Programs load(ProgramKind kind, const std::string& function);

    [[nodiscard]] bpf_program* program(Body body) const;
    /// The map in which the counting program counts.
    [[nodiscard]] int counters() const noexcept { return count_fd_; }
    /// Runs of the programs that can tell since the last call; reads the ring buffer empty.
    std::uint64_t take_count();
    /// Makes room in the ring buffer, without forgetting what it held.
    void drain();
    /// Hits that the ring buffer has room for.
    [[nodiscard]] std::uint64_t room() const;

  private:
    struct Close {
        void operator()(bpf_object* object) const { bpf_object__close(object); }
    };

    Programs() = default;
    [[nodiscard]] std::uint64_t read_counter() const;

    ProgramKind kind_ = ProgramKind::kKprobe;
    std::unique_ptr<bpf_object, Close> object_;
    std::optional<RingMapping> ring_;
    int count_fd_ = -1;
    std::uint64_t counted_ = 0;
    std::uint64_t received_ = 0;
};

}  // namespace djprobe::loader
