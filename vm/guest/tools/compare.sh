#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# compare.sh LIST: each tool of the list (lines NAME|COMMAND) alone and under probeload run, with
# the same workload. Prints a row for each, fields with tabs between them:
#   name, its probes by jump, int3 and the kernel, hits of its programs alone and under run, lines of
#   its output about the workload alone and under run, verdict (same, differs, idle, fails)
# The hits are the kernel's own statistics, over all programs of type kprobe. vm/bench/tools runs it.
set -u
here=$(dirname "$0")
echo 1 >/proc/sys/kernel/bpf_stats_enabled
[ ! -d /root/new ] || for folder in proc sys dev tmp; do
    mount -o bind /$folder /root/new/$folder
done
[ ! -d /root/new ] || mount -t tracefs none /root/new/sys/kernel/tracing 2>/dev/null

descriptors() { readlink /proc/"$1"/fd/* 2>/dev/null | grep -cE 'bpf|perf_event|djprobe'; }

# The process of the tool itself: below probeload, and below what starts it.
tool_of() {
    pid=$1
    while child=$(cat /proc/"$pid"/task/*/children 2>/dev/null) && [ -n "$child" ]; do
        pid=${child%% *}
    done
    echo "$pid"
}

# Until it has descriptors of probes, and no new ones for two seconds.
await_probes() {
    known=-1 quiet=0 tries=0
    while [ $quiet -lt 8 ] && [ $tries -lt 480 ] && [ -e /proc/"$1"/exe ]; do
        now=$(descriptors "$(tool_of "$1")")
        if [ "$now" -gt 0 ] && [ "$now" = "$known" ]; then quiet=$((quiet + 1)); else quiet=0; fi
        known=$now tries=$((tries + 1))
        usleep 250000
    done
}

hits() {
    bpftool prog show 2>/dev/null | sed -n 's/^[0-9]*: kprobe .*run_cnt \([0-9]*\).*/\1/p' |
        awk '{ sum += $1 } END { print sum + 0 }'
}

# watch OUT ERR COMMAND...: the tool, the workload, the tool's end. Sets $seen, $code.
watch() {
    out=$1 err=$2
    shift 2
    "$@" >"$out" 2>"$err" &
    pid=$!
    await_probes $pid
    before=$(hits)
    sh "$here/work.sh" >/dev/null 2>&1
    seen=$(($(hits) - before))
    for signal in INT INT INT TERM KILL; do
        [ -e /proc/$pid/exe ] || break
        kill -$signal "$(tool_of $pid)" 2>/dev/null
        tries=0
        while [ -e /proc/$pid/exe ] && [ $tries -lt 80 ]; do
            usleep 100000
            tries=$((tries + 1))
        done
    done
    wait $pid
    code=$?
}

about_work() { grep -cE 'wk|777[1-4]' "$1"; }
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" /tmp/tool.err | tail -n 1; }
by_kernel() {
    sed -n 's/.*"by_kernel":{\([^}]*\)}.*/\1/p' /tmp/tool.err | tr ',' '\n' |
        awk -F: '{ sum += $NF } END { print sum + 0 }'
}
reasons() { sed -n 's/.*"int3_reasons":{\([^}]*\)}.*"by_kernel":{\([^}]*\)}.*/\1 \2/p' /tmp/tool.err | tr -d '"'; }

# Background work of the guest is in both, and not the same.
near() {
    awk -v a="$1" -v b="$2" 'BEGIN { d = a > b ? a - b : b - a; m = a > b ? a : b
                                     exit !(d <= 30 || d <= m * 0.1) }'
}

verdict() {
    if [ "$alone_code" -ne 0 ] && [ "$alone" -eq 0 ]; then
        echo fails-alone
    elif [ "$code" -ne "$alone_code" ]; then
        echo "differs: status $alone_code, $code"
    elif ! near "$alone" "$seen"; then
        echo 'differs: hits'
    elif ! near "$alone_lines" "$lines"; then
        echo 'differs: lines'
    elif [ "$alone" -eq 0 ]; then
        echo idle
    else
        echo same
    fi
}

while IFS='|' read -r name command; do
    [ -n "$name" ] || continue
    case $name in '#'*) continue ;; esac
    # shellcheck disable=SC2086  # words of a command
    {
        watch /tmp/alone.out /tmp/alone.err sh -c "exec $command"
        alone=$seen alone_code=$code alone_lines=$(about_work /tmp/alone.out)
        watch /tmp/tool.out /tmp/tool.err probeload run -j -- sh -c "exec $command"
        lines=$(about_work /tmp/tool.out)
    }
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$(number jump)" "$(number int3)" \
        "$(by_kernel)" "$alone" "$seen" "$alone_lines" "$lines" "$(verdict)" "$(reasons)"
    case $(verdict) in differs* | fails*) head -n 5 /tmp/alone.err /tmp/tool.err >&2 ;; esac
done <"$1"
