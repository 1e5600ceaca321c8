#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# compare.sh LIST: each tool of the list (lines NAME|COMMAND) alone and under probeload run, with
# the same workload. Prints a row for each, fields with tabs between them:
#   name, its probes by jump, int3 and the kernel, hits of its programs alone and under run, lines of
#   its output alone and under run (those about the workload, if it has some), verdict (same, differs,
#   idle, fails), why probes are not by jump or what the tool says about its failure
# The hits are the kernel's own statistics, over all programs of type kprobe. vm/bench/tools runs it.
set -u
here=$(dirname "$0")
echo 1 >/proc/sys/kernel/bpf_stats_enabled
[ ! -d "$PWD/libc" ] || ln -s "$PWD/libc/usr/include" /usr/include
[ ! -d /root/new ] || for folder in proc sys dev tmp; do
    mount -o bind /$folder /root/new/$folder
done
[ ! -d /root/new ] || mount -t tracefs none /root/new/sys/kernel/tracing 2>/dev/null

# Not by readlink: busybox's takes one file.
has_probes() { stat -c %N /proc/"$1"/fd/* 2>/dev/null | grep -qE 'bpf|perf_event|djprobe'; }

# The process of the tool itself: below probeload, and below what starts it.
tool_of() {
    pid=$1
    # read says that the file ends without a newline.
    while child='' && { read -r child _ </proc/"$pid"/task/"$pid"/children || [ -n "$child" ]; }; do
        pid=$child
    done 2>/dev/null
    echo "$pid"
}

# Not while it computes, nor while a call of its own waits for probeload. On a busy host its CPU time
# says nothing.
sleeps() {
    grep -q '^State:.S ' /proc/"$1"/status 2>/dev/null && ! grep -q seccomp /proc/"$1"/wchan
}

# Until it has descriptors of probes, and sleeps each time for a second and a half: between its maps and
# its probes a tool compiles.
await_probes() {
    quiet=0 tries=0
    while [ $quiet -lt 6 ] && [ $tries -lt 400 ] && [ -e /proc/"$1"/exe ]; do
        tool=$(tool_of "$1")
        if sleeps "$tool" && has_probes "$tool"; then quiet=$((quiet + 1)); else quiet=0; fi
        tries=$((tries + 1))
        usleep 250000
    done
}

# The number and the runs of each program. Of one that has not run bpftool tells no count.
counts() {
    bpftool prog show 2>/dev/null |
        sed -n 's/^\([0-9]*\): kprobe .*run_cnt \([0-9]*\).*/\1 \2/p; t; s/^\([0-9]*\): kprobe .*/\1 0/p'
}

# hits BEFORE AFTER: of the programs that are in both. The kernel still shows those of a tool that has
# just failed, and forgets them and their runs a moment later.
hits() {
    awk 'NR == FNR { before[$1] = $2; next }
        $1 in before { sum += $2 - before[$1] }
        END { print sum + 0 }' "$1" "$2"
}

# watch OUT ERR COMMAND...: the tool, the workload, the tool's end. Sets $seen, $code.
watch() {
    out=$1 err=$2
    shift 2
    "$@" >"$out" 2>"$err" &
    pid=$!
    await_probes $pid
    counts >/tmp/before
    sh "$here/work.sh" >/dev/null 2>&1
    counts >/tmp/after
    seen=$(hits /tmp/before /tmp/after)
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

# Those about the commands, files and ports of work.sh; all where there is none.
lines_of() {
    about='\bwk|777[1-4]|\b(mv|rm|dd|cat|chown|touch|nc)\b'
    if grep -qE "$about" "$1"; then grep -cE "$about" "$1"; else grep -c . "$1"; fi
}
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" /tmp/tool.err | tail -n 1; }
by_kernel() {
    sed -n 's/.*"by_kernel":{\([^}]*\)}.*/\1/p' /tmp/tool.err | tr ',' '\n' |
        awk -F: '{ sum += $NF } END { print sum + 0 }'
}
# Why probes are not by jump; of a tool that fails alone, what it says.
why() {
    case $1 in
    fails*) { grep -m 1 -i error /tmp/alone.err || head -n 1 /tmp/alone.err; } | tr '\t' ' ' ;;
    *) reasons ;;
    esac
}
reasons() { sed -n 's/.*"int3_reasons":{\([^}]*\)}.*"by_kernel":{\([^}]*\)}.*/\1 \2/p' /tmp/tool.err | tr -d '"'; }

# Background work of the guest is in both, and not the same; a tool that sees a few calls sees none of it.
near() {
    awk -v a="$1" -v b="$2" 'BEGIN { d = a > b ? a - b : b - a; m = a > b ? a : b
                                     exit !(d <= 2 && a && b || d <= m * 0.1) }'
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
        alone=$seen alone_code=$code alone_lines=$(lines_of /tmp/alone.out)
        watch /tmp/tool.out /tmp/tool.err probeload run -j -- sh -c "exec $command"
        lines=$(lines_of /tmp/tool.out)
    }
    outcome=$(verdict)
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$(number jump)" "$(number int3)" \
        "$(by_kernel)" "$alone" "$seen" "$alone_lines" "$lines" "$outcome" "$(why "$outcome")"
    case $outcome in differs*) tail -n 8 /tmp/alone.err /tmp/tool.err /tmp/alone.out /tmp/tool.out >&2 ;; esac
done <"$1"
