#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a VM with --icount: by how much a workload gets slower when each function of a list is counted,
# and each basic block of them, beside what the kernel's own mechanisms need for the functions. The
# list is what vm/bench/functions_below says of net/ and fs/; see vm/bench/slowdown.
# sh ./workload.sh LIST [ROUNDS]
set -eu
list=$1 rounds=${2:-100}

# measure NAME COMMAND...: the workload's instructions in a round while COMMAND counts; the last
# argument that it gets is what it runs.
measure() {
    name=$1
    shift
    rm -f /tmp/load
    "$@" "./mixload $rounds >/tmp/load" >/tmp/out 2>/tmp/err || {
        echo "$name: not measured: $(tail -n 1 /tmp/err)"
        return
    }
    took=$(sed -n 's/^ns //p' /tmp/load)
    grep -hE '^(attached|counting) ' /tmp/out /tmp/err >/tmp/said || true
    what=$(cut -c 1-100 /tmp/said)
    [ "$(wc -l </tmp/said)" -le 1 ] || what="attached $(wc -l </tmp/said) functions"
    awk -v name="$name" -v took="$took" -v alone="$alone" -v what="$what" 'BEGIN {
        printf "%-20s %9d instructions a round, %+8.2f%%  %s\n", name, took, (took / alone - 1) * 100, what
    }'
}

# words FILE: as arguments.
words() { tr '\n' ' ' <"$1"; }

mount -t tracefs none /sys/kernel/tracing 2>/dev/null || true # bpftrace looks for functions there
# What boot has left to do takes its share of the only CPU at first.
./mixload "$rounds" >/tmp/load
sleep 20
alone=$(./mixload "$rounds" | sed -n 's/^ns //p')
measure nothing sh -c
# Only functions that are called cost anything: the others need not be attached by each mechanism.
probeload count '*' --top 100000 -c "./mixload 2 1" >/tmp/counts 2>/tmp/err || {
    tail -n 3 /tmp/err >&2
    exit 1
}
sed -nE 's/^ +[1-9][0-9]*  ([a-zA-Z0-9_.]+)(\+0x[0-9a-f]+)?$/\1/p' /tmp/counts | sort -u >/tmp/called
# A name that several functions have names none of them.
sed -nE 's/^[0-9a-f]+ [tTwW] ([^ ]+)$/\1/p' /proc/kallsyms | sort | uniq -d >/tmp/twice
awk 'FILENAME == ARGV[1] { twice[$0]; next }
    FILENAME == ARGV[2] { listed[$0]; next }
    $0 in listed && !($0 in twice)' /tmp/twice "$list" /tmp/called >/tmp/hit
echo "$(wc -l <"$list") functions, $(wc -l </tmp/hit) of them are called"
measure 'djprobe, all of all' probeload count '*' -c
# shellcheck disable=SC2046 # a word is a function
measure 'djprobe, functions' probeload count $(words /tmp/hit) -c
# shellcheck disable=SC2046
measure 'djprobe, blocks' probeload cover $(words /tmp/hit) -c
for kind in fentry multi kprobe; do
    measure "$kind" ./peers $kind bpf/peers.bpf.o /tmp/hit
done
# by_bpftrace COMMAND: bpftrace takes an ELF program, not a line of the shell's.
by_bpftrace() {
    echo "$1" >/tmp/load.sh
    # shellcheck disable=SC3045 # busybox has it; bpftrace opens a file for each probe
    ulimit -n 65536
    BPFTRACE_MAX_PROBES=100000 ./bpftrace -e "$(sed 's/^/kprobe:/' /tmp/hit | paste -sd, -) { @[func] = count(); }" -c '/bin/busybox sh /tmp/load.sh'
}
measure 'bpftrace, kprobes' by_bpftrace
measure nothing sh -c
