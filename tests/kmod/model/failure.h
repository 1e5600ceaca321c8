// SPDX-License-Identifier: GPL-2.0
// How a broken invariant ends a run: with what was done so far. Policy code is on the stack, so
// there is no way back but to end the process.
#pragma once

#include <cstdint>
#include <string>

namespace djprobe::model {

/// What a reader needs to run it again; printed with every failure.
void set_recipe(std::string recipe);
/// Remember what is done next. Cheap: the last few are kept.
[[gnu::format(printf, 1, 2)]] void note(const char* format, ...);
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

}  // namespace djprobe::model
