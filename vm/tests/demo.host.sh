#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What README.md says one sees first: vm/demo shows who reads which file, through a jump.
# on 6.1: vm/demo does the same on each kernel
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# It builds, and two builds in one tree would be in each other's way.
flock "$top/build" "$top/vm/demo" --kernel "$KERNEL" >"$output" 2>&1 || {
    status=$?
    cat "$output"
    echo "FAIL: exit status $status of vm/demo" >&2
    exit 1
}
for line in '^attached vfs_read\+0x[0-9a-f]+ \(0x[0-9a-f]{16}\) by jump$' \
    '^event ts_ns=[0-9]+ +cpu=[0-9]+ +pid=[0-9]+ +tid=[0-9]+ +comm="head" +count=[0-9]+ +name="passwd"$' \
    '^vfs_read\+0x[0-9a-f]+: hits [1-9][0-9]*, missed [0-9]+.*, by jump$' \
    '^events: [1-9][0-9]* received, 0 lost$'; do
    grep -Eq "$line" "$output" || {
        cat "$output"
        echo "FAIL: no line matches: $line" >&2
        exit 1
    }
done
