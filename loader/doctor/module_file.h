// SPDX-License-Identifier: GPL-2.0
// The module's file, as modprobe would find it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doctor/machine.h"

namespace djprobe::loader::doctor {

struct ModuleFile {
    std::string path;
    std::string content;  ///< unpacked

    /// Nothing: it is not installed for this kernel.
    static std::optional<ModuleFile> find(const Machine& machine);

    /// One that libdw cannot unpack tells nothing of the following.
    [[nodiscard]] bool is_readable() const;
    /// What the file says of itself: "vermagic", "version", "srcversion"; "" for none.
    [[nodiscard]] std::string_view info(std::string_view key) const;
};

}  // namespace djprobe::loader::doctor
