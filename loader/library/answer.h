// SPDX-License-Identifier: GPL-2.0
// The program that answers a probeload_question, with what attaching and reading it needs.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/process.h"
#include "base/temp_dir.h"
#include "events/reader.h"
#include "kernel/device.h"
#include "kernel/symbolizer.h"
#include "library/probeload.h"
#include "session/options.h"
#include "trace/kept_results.h"
#include "trace/prepare.h"

namespace djprobe::loader {

class Answer {
  public:
    /// `size`: the question's, as its caller knows it. Compiles the program. Throws Error.
    Answer(const probeload_question& question, std::size_t size);

    [[nodiscard]] const std::filesystem::path& object() const { return object_; }
    /// `device`: once it is to be attached; before that null.
    [[nodiscard]] AttachOptions attach(const Device* device) const {
        return attach_options(trace_, object_, device);
    }
    /// As the caller has written it.
    [[nodiscard]] std::string place() const { return trace_.options.question.place(); }
    [[nodiscard]] const std::string& left_out() const { return left_out_; }
    /// What a person would be told besides.
    void tell(const std::string& lines) { left_out_ += lines; }
    [[nodiscard]] bool names_symbols() const { return loader::names_symbols(trace_.program); }
    [[nodiscard]] bool has_events() const { return !trace_.options.question.aggregation; }
    /// The events as `probeload trace -j` prints them. The symbolizer outlives it.
    [[nodiscard]] PrintRecord json(const btf& types, Symbolizer& symbolizer) const;
    /// Likewise what the kernel has kept, the `most` largest. Throws Error(kUsage) for events.
    [[nodiscard]] std::string results(const bpf_object* object, std::size_t most,
                                      Symbolizer& symbolizer) const;

  private:
    TempDir directory_{Process::kCallers};  // of an object that the cache did not take
    std::string left_out_;                  // trace_ tells it
    PreparedTrace trace_;
    std::filesystem::path object_;
};

}  // namespace djprobe::loader
