#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a VM with --icount: prints "site mechanism program instructions" per hit,
# with tabs, of all that probeload bench can measure. Counts do not vary: few
# calls are enough. With --plot the picture follows. With --ours the kernel's own
# mechanisms run one program only, which saves most of the time.
set -eu
bench() { probeload bench -j --rounds 2 --calls 3200 "$@"; }
ours=djprobe-count,djprobe-jump,djprobe-int3,djprobe-return,djprobe-shadow
kernels=kprobe-optimized,kprobe-int3,kprobe-ftrace,kretprobe,kprobe-multi,fentry,fexit,raw-tracepoint
case ${1:-} in
--ours)
    bench --mechanism $ours >/tmp/bench.json
    bench --mechanism $kernels --program histogram >>/tmp/bench.json
    ;;
*) bench --plot /tmp/bench.svg >/tmp/bench.json ;;
esac
grep -q '"type":"summary".*"unit":"instructions"' /tmp/bench.json || {
    echo 'measure.sh: the clock does not count instructions: use vm/run --icount' >&2
    exit 1
}
# A table without some of ours would compare nothing: each program at both sites by jump and by int3,
# and at the return in shadow mode; actions at both sites; exact mode has no place in what is
# measured.
[ "$(grep -c '"type":"result".*"mechanism":"djprobe.*"median"' /tmp/bench.json)" -eq 31 ] || {
    grep '"mechanism":"djprobe.*"unavailable"' /tmp/bench.json >&2
    echo 'measure.sh: not all of ours could be measured' >&2
    exit 1
}
sed -n 's/^{"type":"result","site":"\([^"]*\)","mechanism":"\([^"]*\)","program":"\([^"]*\)",.*"median":\([0-9.]*\),.*/\1\t\2\t\3\t\4/p' /tmp/bench.json
[ "${1:-}" != --plot ] || cat /tmp/bench.svg
