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
enum class Body { kEmpty, kCounter, kFilter, kHistogram, kRingbuf };
inline constexpr std::array kBodies = {Body::kEmpty, Body::kCounter, Body::kFilter,
                                       Body::kHistogram, Body::kRingbuf};
/// Whether a list of actions can do it.
constexpr bool counts(Body body) {
    return body != Body::kEmpty && body != Body::kRingbuf;
}
const char* body_name(Body body);
/// Their names, with commas.
std::string body_names();

/// How the kernel calls it.
enum class ProgramKind { kKprobe, kMulti, kFentry, kFexit, kRawTracepoint };

/// The programs of one kind, one for each body, loaded, with maps of their own.
class Programs {
  public:
    /// `function`: what fentry and fexit are for. Throws Error with the kernel's reason.
    static Programs load(ProgramKind kind, const std::string& function);

    [[nodiscard]] bpf_program* program(Body body) const;
    /// The map in which the counting program counts, or the slots of the histogram.
    [[nodiscard]] int counters(Body body) const noexcept {
        return body == Body::kHistogram ? slots_fd_ : count_fd_;
    }
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
    [[nodiscard]] std::uint64_t read_counters() const;

    ProgramKind kind_ = ProgramKind::kKprobe;
    std::unique_ptr<bpf_object, Close> object_;
    std::optional<RingMapping> ring_;
    int count_fd_ = -1;
    int slots_fd_ = -1;
    std::uint64_t counted_ = 0;
    std::uint64_t received_ = 0;
};

}  // namespace djprobe::loader
