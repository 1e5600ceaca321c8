// SPDX-License-Identifier: GPL-2.0
// What counts, or measures, from when it is made until stop(): a verb of probeload shows it on a
// terminal, an application reads it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace djprobe::loader {

class Measurement {
  public:
    Measurement() = default;
    Measurement(const Measurement&) = delete;
    Measurement& operator=(const Measurement&) = delete;
    virtual ~Measurement() = default;

    /// What is known now, as the verb's -j prints it: lines. `most`: so many counts or parts, the
    /// largest; where the lines are those of functions, all of them. Throws Error.
    virtual std::string results(std::size_t most) = 0;
    /// Takes the probes out, and waits for hits that are under way. The results stay. Once. Throws
    /// Error.
    virtual void stop() = 0;

  protected:
    /// Seconds from begin() to now, or to end().
    [[nodiscard]] double elapsed() const {
        return std::chrono::duration<double>(end_.value_or(Clock::now()) - begin_).count();
    }
    /// The probes are in.
    void begin() { begin_ = Clock::now(); }
    /// They go.
    void end() { end_ = Clock::now(); }

  private:
    using Clock = std::chrono::steady_clock;

    Clock::time_point begin_ = Clock::now();
    std::optional<Clock::time_point> end_;
};

}  // namespace djprobe::loader
