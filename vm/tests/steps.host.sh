#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Counts of blocks and edges are those of the instructions that the CPU executes, one by one.
# on 6.12: how counts follow from counters does not depend on the kernel
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# With ROUNDS=1 also those of the network; FUNCTIONS= are others, which only the load may call.
some='known:known_loops known:known_switch known:known_returns'
[[ ${ROUNDS:-0} == 0 ]] || some+=' tcp_sendmsg_locked tcp_recvmsg_locked'
read -ra functions <<<"${FUNCTIONS:-$some}"
exec python3 "$top/vm/lib/steps.py" "$top" "$KERNEL" "${ROUNDS:-0}" "${functions[@]}"
