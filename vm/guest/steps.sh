#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In the guest of vm/lib/steps.py: the same load under counters, then alone, for QEMU to trace.
# sh ./steps.sh ROUNDS FUNCTION...
set -eu
rounds=$1
shift
# Opening it forgets what has come before.
exec 3<>/dev/ttyS1
for module in known/*.ko; do
    ! grep -aq "vermagic=$(uname -r) " "$module" || insmod "$module"
done
load='echo 50 >/sys/module/known/parameters/run'
[ "$rounds" -eq 0 ] || load="$load; mixload $rounds 1 >/tmp/load"
# The first time a connection finds its route and its memory in other ways.
sh -c "$load"
sh -c "$load"
probeload count --blocks -j "$@" -c "$load" 2>/tmp/err || {
    cat /tmp/err >&2
    exit 1
}
echo ready
read -r _ <&3
sh -c "$load"
echo 'done'
read -r _ <&3
