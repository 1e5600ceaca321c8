#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What probeload trace shows is what there was. VMs have no compiler, so the programs are compiled
# here, and found in the cache there.
set -euo pipefail

# What it compiles and prints does not depend on preemption.
if [[ $KERNEL == 6.12-rt ]]; then
    echo 'SKIP: it is looked at on 6.12'
    exit 77
fi
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/out" "$work/known"
# A module of a build without pahole.
objcopy --remove-section .BTF "$top/build/vm/known/known-$KERNEL.ko" "$work/known/known.ko"
(
    cd "$top/vm/tests"
    PATH=$top/build/loader:$PATH XDG_CACHE_HOME=$work/cache TRACE_OUT=$work/out \
        TRACE_EMIT="--btf $top/build/kernels/$KERNEL/vmlinux --emit $work/out/program.bpf.o" \
        bash ../guest/trace.sh
)
# Against what hangs: a slow machine is no failure.
"$top/vm/run" --kernel "$KERNEL" --timeout 900 --add "$work/cache" --add "$top/vm/guest/trace.sh" \
    --add "$top/build/vm/library/ask" --add "$top/build/vm/library/results" --add "$work/known" --add "$top/vm/tests/lib.sh" -- sh ./trace.sh
