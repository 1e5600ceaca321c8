// SPDX-License-Identifier: GPL-2.0
#pragma once

namespace djprobe::loader {

/// How events are printed.
enum class Format {
    kText,
    kJson,
    kRaw,  ///< the records' own bytes, see events/printer.h
};

}  // namespace djprobe::loader
