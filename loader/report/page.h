// SPDX-License-Identifier: GPL-2.0
// The report's page without its data. It is put together from page/ and D3 when djprobe is built.
#pragma once

#include <string_view>

namespace djprobe::loader {

extern const std::string_view kReportPage;  ///< with @TITLE@ and @DATA@

}  // namespace djprobe::loader
