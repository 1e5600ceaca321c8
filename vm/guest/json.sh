#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In the guest of vm/tests/json.host.sh: stdout is what probeload says with -j, of each kind.
set -eu

# said COMMAND...: its stdout, or why it failed.
said() {
    "$@" 2>/tmp/err || {
        echo "exit status $?: $*" >&2
        cat /tmp/err >&2
        exit 1
    }
}
attach() { said probeload attach -j "$@"; }
read_once='head -n 1 /etc/passwd'

for handler in types untyped maps uncounted perf results; do
    attach -c "$read_once" handlers/$handler.bpf.o
done
attach --func vfs_read -c 'exit 3' bpf/count.bpf.o
# shellcheck disable=SC2016 # the command is to expand that
attach --func vfs_read --mode int3 -c 'kill -9 $$' bpf/count.bpf.o
# shellcheck disable=SC2016 # its parent is probeload
attach --func vfs_read -c 'kill -USR1 $PPID; sleep 1' bpf/count.bpf.o
attach --func vfs_read --func vfs_write -d 0.1 bpf/count.bpf.o
attach --func vfs_read --ret -c "$read_once" bpf/count.bpf.o
attach --func vfs_read --ret --ret-mode shadow -c "$read_once" bpf/count.bpf.o
attach --func 'vfs_*' -c "$read_once" bpf/count.bpf.o
attach --func 'vfs_*' --ret -c "$read_once" bpf/count.bpf.o
attach -c "$read_once" bpf/vfs_latency.bpf.o
attach --skip-unsupported -c "$read_once" handlers/mixed.bpf.o

said probeload attach --func vfs_read -c 'probeload list -j >/tmp/list' bpf/count.bpf.o
cat /tmp/list
said probeload attach --session -c 'probeload list -j >/tmp/list' bpf/vfs_session.bpf.o
cat /tmp/list

said probeload count 'vfs_*' vfs_read -j -i 0.2 -c "$read_once; sleep 1; probeload list -j >/tmp/list"
cat /tmp/list
said probeload count --blocks vfs_read -j -c "$read_once"
known=$(grep -l "vermagic=$(uname -r) " known/*.ko)
insmod "$known"
said probeload cover 'vfs_re*' -j -c "$read_once"
said probeload cover known:known_loops -j --debuginfo "$known" -c "$read_once"
said probeload lines known:known_loops -j --debuginfo "$known"
said probeload count --lines known:known_loops -j --debuginfo "$known" -c "$read_once"

said probeload hist vfs_read --of count -j -i 0.2 -c "$read_once; sleep 1"
said probeload latency vfs_read vfs_read:return -j -i 0.2 -c "$read_once; sleep 0.5"
for key in cpu comm; do
    said probeload latency vfs_open vfs_read --by $key -j -c "$read_once"
done

XDG_CACHE_HOME=$PWD/cache said probeload trace vfs_read count -j -c "$read_once"
XDG_CACHE_HOME=$PWD/cache said probeload trace vfs_read --hist count --by comm -j -c "$read_once"

# A jump, no instruction, init text, hand-written code.
for site in vfs_read vfs_read+1 start_kernel notify_die memcpy; do
    said probeload explain -j $site
done
# Its summary goes to stderr: the tool's stdout is the tool's.
probeload run -j -- true 2>&1
said probeload run -j --bench -c true -- ./asktool watch
said probeload functions -j 'vfs_r*'
said probeload doctor -j
said probeload survey -j --functions 'vfs_r*'
said probeload survey -j --ret --functions 'vfs_r*'

said probeload bench -j --rounds 1 --calls 640 --program counter \
    --mechanism djprobe-jump,djprobe-return,kprobe-int3,kprobe-multi,raw-tracepoint
said probeload bench -j --rounds 1 --attach 2
