// SPDX-License-Identifier: GPL-2.0
// What a probeload_object is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "events/stack_names.h"
#include "kernel/symbolizer.h"
#include "library/answer.h"
#include "library/rings.h"
#include "object/object.h"

struct probeload_object {
  public:
    explicit probeload_object(const char* file);
    /// The program of a question, which a probe attaches at all its places.
    explicit probeload_object(std::unique_ptr<djprobe::loader::Answer> answer);
    probeload_object(const probeload_object&) = delete;
    probeload_object& operator=(const probeload_object&) = delete;

    /// Throws Error(kUsage) from the load on, also where that has failed.
    [[nodiscard]] bpf_object* still_open() const;
    void load();
    /// Throws Error(kUsage) before the load, and where that has failed.
    bpf_object* loaded() const;
    [[nodiscard]] djprobe::loader::Rings& rings();
    [[nodiscard]] const djprobe::loader::Rings& rings() const;
    /// That is loaded; null: the only one.
    [[nodiscard]] const djprobe::loader::Program& program(const char* name) const;
    [[nodiscard]] const std::vector<djprobe::loader::Program>& programs() const;
    /// Null: it was opened as a file.
    [[nodiscard]] const djprobe::loader::Answer* answer() const { return answer_.get(); }
    /// The symbols of now, if the answers name functions: modules come and go.
    void know_symbols() const;
    /// Of a question with a result, as JSON; see probeload_results().
    [[nodiscard]] const std::string& results(std::size_t most);

  private:
    [[nodiscard]] std::string name() const;
    void check_load_has_not_failed() const;

    std::unique_ptr<djprobe::loader::Answer> answer_;
    djprobe::loader::Object object_;
    mutable djprobe::loader::Symbolizer symbolizer_;  // as of the last attachment
    djprobe::loader::StackNames names_{symbolizer_};
    bool load_tried_ = false;
    std::vector<djprobe::loader::Program> programs_;
    std::string results_;
    std::optional<djprobe::loader::Rings> rings_;  // once loaded
};
