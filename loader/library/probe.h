// SPDX-License-Identifier: GPL-2.0
// What a probeload_probe is.
#pragma once

#include <string>
#include <vector>

#include "session/attachment.h"

struct probeload_probe {
    /// One for each place of a question's program; else one.
    std::vector<djprobe::loader::Attachment> attachments;
    std::string description{};
};
