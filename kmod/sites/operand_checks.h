// SPDX-License-Identifier: GPL-2.0
// Whether a handler's operands can be read at a site.
#pragma once

#include "../../arch/x86/analysis/plan.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

/// OPERAND_MAY_FAULT: an action reads memory there that may not be mapped.
Refusal check_operands(const djk_handler* handler, const x86::Plan& plan);

}  // namespace djprobe::kmod
