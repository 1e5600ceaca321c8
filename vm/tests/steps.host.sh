#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Counts of blocks and edges are those of the instructions that the CPU executes, one by one.
set -euo pipefail

if [[ $KERNEL != 6.12 ]]; then
    echo 'SKIP: how counts follow from counters does not depend on the kernel: once, on 6.12'
    exit 77
fi
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# With ROUNDS=1 also those of the network; FUNCTIONS= are others, which only the load may call.
some='known:known_loops known:known_switch known:known_returns'
[[ ${ROUNDS:-0} == 0 ]] || some+=' tcp_sendmsg_locked tcp_recvmsg_locked'
read -ra functions <<<"${FUNCTIONS:-$some}"
exec python3 "$top/vm/lib/steps.py" "$top" "$KERNEL" "${ROUNDS:-0}" "${functions[@]}"
