#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a VM with --icount: prints "site mechanism program instructions" per hit,
# with tabs, of all that probeload bench can measure. Counts do not vary: few
# calls are enough. With --plot the picture follows.
set -eu
probeload bench -j --rounds 2 --calls 3200 --plot /tmp/bench.svg >/tmp/bench.json
grep -q '"type":"summary".*"unit":"instructions"' /tmp/bench.json || {
    echo 'measure.sh: the clock does not count instructions: use vm/run --icount' >&2
    exit 1
}
# A table without some of ours would compare nothing: each program at both sites by jump and by int3,
# and at the return in shadow mode; counters at both sites; exact mode has no place in what is
# measured.
[ "$(grep -c '"type":"result".*"mechanism":"djprobe.*"median"' /tmp/bench.json)" -eq 17 ] || {
    grep '"mechanism":"djprobe.*"unavailable"' /tmp/bench.json >&2
    echo 'measure.sh: not all of ours could be measured' >&2
    exit 1
}
sed -n 's/^{"type":"result","site":"\([^"]*\)","mechanism":"\([^"]*\)","program":"\([^"]*\)",.*"median":\([0-9.]*\),.*/\1\t\2\t\3\t\4/p' /tmp/bench.json
[ "${1:-}" != --plot ] || cat /tmp/bench.svg
