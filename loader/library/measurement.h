// SPDX-License-Identifier: GPL-2.0
// What a probeload_measurement is.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/stop_signals.h"
#include "kernel/symbolizer.h"
#include "library/probeload.h"
#include "session/measurement.h"

struct probeload_measurement {
  public:
    /// `size`: the question's, as its caller knows it. Throws Error.
    probeload_measurement(const probeload_question& question, std::size_t size);

    [[nodiscard]] const std::string& how() const { return how_; }
    [[nodiscard]] const std::string& results(std::size_t most);
    void stop();

  private:
    djprobe::loader::Symbolizer symbolizer_;
    djprobe::loader::StopSignals stop_{djprobe::loader::Process::kCallers};
    std::unique_ptr<djprobe::loader::Measurement> measurement_;
    std::string how_, results_;
    bool is_stopped_ = false;
};
