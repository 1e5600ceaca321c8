// SPDX-License-Identifier: GPL-2.0
// What a probeload_object is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "events/stack_names.h"
#include "kernel/symbolizer.h"
#include "library/rings.h"
#include "object/object.h"

struct probeload_object {
  public:
    explicit probeload_object(const char* file);
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

  private:
    void check_load_has_not_failed() const;

    djprobe::loader::Object object_;
    djprobe::loader::Symbolizer symbolizer_;
    djprobe::loader::StackNames names_{symbolizer_};
    bool load_tried_ = false;
    std::vector<djprobe::loader::Program> programs_;
    std::optional<djprobe::loader::Rings> rings_;  // once loaded
};
