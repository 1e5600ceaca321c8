#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a VM: what it costs to count many functions at once, or all their basic blocks, from the
# command to its end. The module's index of the kernel is built before. With --icount the time is
# that of instructions, one a ns.
# vm/run --icount --mem 2048 --timeout 900 --add vm/bench/mass.sh -- sh ./mass.sh [GLOB [--blocks]]
set -eu
glob=${1:-*} how=${2:-}
used() { sed -n "s/^$1: *\([0-9]*\) kB\$/\1/p" /proc/meminfo; }
milliseconds() { awk '{ print int($1 * 1000) }' /proc/uptime; }

probeload count 'vfs_*' -c true >/tmp/out 2>&1 # the warm-up
slab=$(used Slab) vmalloc=$(used VmallocUsed) percpu=$(used Percpu)
begin=$(milliseconds)
# shellcheck disable=SC2086  # no word where there is no option
probeload count $how "$glob" \
    -c "sed -n 's/^\(Slab\|VmallocUsed\|Percpu\): *\([0-9]*\) kB/\1 \2/p; s/^\([0-9.]*\) .*/Uptime \1/p' \
        /proc/uptime /proc/meminfo" >/tmp/out 2>&1 || true
end=$(milliseconds)
things=$(sed -n "s/^\([0-9]*\) functions* like .*/\1 functions/p; s/^counting \([0-9]* blocks\) of .*/\1/p" /tmp/out)
# more WHAT BEFORE: how much more of it there is while all are counted.
more() { echo $(($(sed -n "s/^$1 \([0-9]*\)$/\1/p" /tmp/out) - $2)); }
counting=$(awk '$1 == "Uptime" { print int($2 * 1000) }' /tmp/out)
count=${things%% *}
[ "${count:-0}" -gt 0 ] || {
    cat /tmp/out >&2
    echo 'mass.sh: nothing was counted' >&2
    exit 1
}
echo "$things, all counted $((counting - begin)) ms after the command"
echo "$((end - begin)) ms until all text is the original again: $(((end - begin) * 1000 / count)) us each"
slab=$(more Slab "$slab") vmalloc=$(more VmallocUsed "$vmalloc") percpu=$(more Percpu "$percpu")
echo "$(((slab + vmalloc + percpu) / 1024)) MiB more in the kernel: $slab KiB of slabs, $((slab * 1024 / count)) bytes each;"
echo "  $vmalloc KiB of code and arrays, $((vmalloc * 1024 / count)) bytes each; $percpu KiB of counters"
