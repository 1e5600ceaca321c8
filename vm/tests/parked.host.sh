#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A CPU stands still at an instruction of the DCR, the detour or the int3 path while
# another one attaches or detaches; see vm/lib/parked.py. $PARKED: its options, by
# default a sample that fits into CI.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [[ $KERNEL == *-rt && -z ${PARKED:-} ]]; then
    echo 'SKIP: the code is that of 6.12; vm/torture runs it here, too'
    exit 77
fi
read -r -a options <<<"${PARKED:---seconds 25 --sites 1}"
exec python3 "$top/vm/lib/parked.py" "$top" "$KERNEL" "${options[@]}"
