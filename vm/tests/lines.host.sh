#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Variables at lines of the source have the values that the source gives them. VMs have no
# compiler, so the programs are compiled here, and found in the cache there.
# on 6.12: the code that a compiler makes of lines does not depend on the kernel
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/out" "$work/known"
cp "$top/build/vm/known/known-$KERNEL.ko" "$work/known/known.ko"
cp "$top/vm/guest/known/known.c" "$work/known"
# The first of the two instructions behind which an argument is dead.
code=$(objdump -d --no-show-raw-insn --disassemble=argument_lasts "$work/known/known.ko")
begin=$(sed -nE 's/^([0-9a-f]+) <argument_lasts>:$/\1/p' <<<"$code")
nop=$(sed -nE 's/^ *([0-9a-f]+):.*nopl +0x8\(%rax.*/\1/p' <<<"$code" | head -n 1)
offset=$(printf '%#x' $((16#$nop - 16#$begin)))
(
    cd "$top/vm/tests"
    PATH=$top/build/loader:$PATH XDG_CACHE_HOME=$work/cache TRACE_OUT=$work/out \
        TRACE_EMIT="--btf $top/build/kernels/$KERNEL/vmlinux --emit $work/out/program.bpf.o" \
        bash ../guest/lines.sh "$work/known/known.ko" "$work/known/known.c" "$offset"
)
"$top/vm/run" --kernel "$KERNEL" --add "$work/cache" --add "$top/vm/guest/lines.sh" \
    --add "$work/known" --add "$top/vm/tests/lib.sh" -- \
    sh ./lines.sh known/known.ko known/known.c "$offset"
