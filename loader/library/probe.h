// SPDX-License-Identifier: GPL-2.0
// What a probeload_probe is.
#pragma once

#include <string>

#include "session/attachment.h"

struct probeload_probe {
    djprobe::loader::Attachment attachment;
    std::string description{};
};
