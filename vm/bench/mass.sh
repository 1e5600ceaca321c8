#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a VM: what it costs to count many functions at once, from the command to its end. The module's
# index of the kernel is built before. With --icount the time is that of instructions, one a ns.
# vm/run --icount --mem 2048 --timeout 900 --add vm/bench/mass.sh -- sh ./mass.sh [GLOB]
set -eu
glob=${1:-*}
slab() { sed -n 's/^Slab: *\([0-9]*\) kB$/\1/p' /proc/meminfo; }
milliseconds() { awk '{ print int($1 * 1000) }' /proc/uptime; }

probeload count 'vfs_*' -c true >/tmp/out 2>&1 # the warm-up
before=$(slab)
begin=$(milliseconds)
probeload count "$glob" -c "sed -n 's/^Slab: *\([0-9]*\) kB/slab \1/p' /proc/meminfo" >/tmp/out 2>&1
end=$(milliseconds)
functions=$(sed -n "s/^\([0-9]*\) functions* like .*/\1/p" /tmp/out)
during=$(sed -n 's/^slab \([0-9]*\)$/\1/p' /tmp/out)
[ "${functions:-0}" -gt 0 ] || {
    cat /tmp/out >&2
    echo 'mass.sh: nothing was counted' >&2
    exit 1
}
echo "$functions functions, $((end - begin)) ms: $(((end - begin) * 1000 / functions)) us each"
echo "$((during - before)) KiB of slabs: $(((during - before) * 1024 / functions)) bytes each"
