#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What probeload says with -j is what docs/json.md says it says; see vm/lib/json_page.py.
# on 6.1: what probeload prints does not depend on the kernel
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# VMs have no compiler: what is traced there is compiled here.
trace() {
    XDG_CACHE_HOME=$work/cache "$top/build/loader/probeload" trace "$@" \
        --btf "$top/build/kernels/$KERNEL/vmlinux" --emit "$work/program.bpf.o"
}
trace vfs_read count
trace vfs_read --hist count --by comm
"$top/vm/run" --kernel "$KERNEL" --timeout 900 --add "$top/build/tests/handlers" \
    --add "$top/build/vm/bpf" --add "$top/build/vm/asktool" --add "$top/build/vm/known" --add "$work/cache" \
    --add "$top/vm/guest/json.sh" -- sh ./json.sh |
    python3 "$top/vm/lib/json_page.py" "$top/docs/json.md"
