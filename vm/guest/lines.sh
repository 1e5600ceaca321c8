#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What variables of vm/guest/known/known.c hold at its lines, for vm/tests/lines.host.sh. On the
# host, where a compiler is, TRACE_EMIT makes programs of the questions; in the VM they are found
# in the cache.
# shellcheck disable=SC1091 # vm/tests/lib.sh, which lies beside it in the VM
. ./lib.sh

known=$1 source=$2 offset=$3
run='echo 4 >/sys/module/known/parameters/run'

# line WORD: the number of the line that is marked so.
line() { grep -n "VALUES: $1 " "$source" | cut -d: -f1; }

begin=$(grep -n ' values_sum(unsigned' "$source" | cut -d: -f1)

# ask NAME ARG...: the events in /tmp/NAME.
ask() {
    name=$1
    shift
    # shellcheck disable=SC2086 # two options
    probeload trace "$@" ${TRACE_EMIT:-} -c "$run" >"${TRACE_OUT:-/tmp}/$name" 2>"${TRACE_OUT:-/tmp}/$name.err" || {
        cat "${TRACE_OUT:-/tmp}/$name.err" >&2
        fail "exit status $?: probeload trace $*"
    }
}

questions() {
    ask add -j "known:known.c:$(line add)" 'base, step, total, n' --debuginfo "$known"
    ask gone -j "known:known.c:$(line gone)" 'gone, twice, n' --debuginfo "$known"
    ask end -j "known:known.c:$(line end)" \
        'time.tv_sec, time, &time == rsp, twice, always, word:str 8, second' --debuginfo "$known"
    ask counted "known:values_sum:+$(($(line end) - begin))" \
        --sum 'time.tv_nsec' --by n --csv --debuginfo "$known"
    ask given -j "known:known.c:$(line end)" 'odd, n' --debuginfo "$known"
    ask pair -j "known:known.c:$(line pair)" 'pair, pair.tv_nsec, n' --debuginfo "$known"
    ask inlined -j --inline known:values_add 'base, step, n' --debuginfo "$known"
    ask dead -j "known:argument_lasts+$offset" rdi
}

if [ -n "${TRACE_EMIT:-}" ]; then
    questions
    exit
fi

export XDG_CACHE_HOME="$PWD/cache"
insmod "$known"
tracefs=/sys/kernel/tracing
sh -c "$run"
oracle_begin

# The kernel's own kprobe at the same instruction.
echo "p:dead known:argument_lasts+$offset rdi=%di:u64" >>$tracefs/kprobe_events
echo 1 >$tracefs/events/kprobes/dead/enable
questions
sed -nE 's/.* rdi=([0-9]+)$/\1/p' $tracefs/trace >/tmp/theirs
echo 0 >$tracefs/events/kprobes/dead/enable
echo >$tracefs/kprobe_events
cp /tmp/dead /tmp/beside
ask dead -j "known:argument_lasts+$offset" rdi

echo '* a line that is inlined twice: its own variables, and those of its caller'
for n in 0 1 2 3; do
    expect_line "\"base\":$n,\"step\":1,\"total\":$((3 * n + 1)),\"n\":$n\}" /tmp/add
    expect_line "\"base\":$((2 * n)),\"step\":2,\"total\":$((6 * n + 2)),\"n\":$n\}" /tmp/add
    [ "$(grep -c "\"n\":$n}" /tmp/add)" = 2 ] || fail "not two events of $n: $(cat /tmp/add)"

    echo "* what is computed, constant, and on the stack: $n"
    expect_line "\"gone\":[0-9]+,\"twice\":$((2 * n)),\"n\":$n\}" /tmp/gone
    expect_line "\"tv_sec\":$((n + 7)),\"time_2\":\{\"tv_sec\":$((n + 7)),\"tv_nsec\":$((3 * n))\},\"value\":1,\"twice\":$((2 * n)),\"always\":-5,\"word\":\"word\",\"second\":$((6 * n + 2))\}" /tmp/end

    echo "* what follows from what the function was given, and what is in two registers: $n"
    expect_line "\"odd\":$([ $((n % 2)) = 1 ] && echo true || echo false),\"n\":$n\}" /tmp/given
    expect_line "\"pair\":\{\"tv_sec\":$((n + 11)),\"tv_nsec\":$((5 * n))\},\"tv_nsec\":$((5 * n)),\"n\":$n\}" /tmp/pair

    echo "* where a function was inlined: $n"
    expect_line "\"base\":$n,\"step\":1,\"n\":$n\}" /tmp/inlined
    expect_line "\"base\":$((2 * n)),\"step\":2,\"n\":$n\}" /tmp/inlined
done

echo '* a line by its function, and results'
expect_line '^9,1,3$' /tmp/counted

echo '* a dead argument is what the kernel shows'
tail -n 4 /tmp/theirs >/tmp/last
for events in /tmp/beside /tmp/dead; do
    sed -nE 's/.*"rdi":([0-9]+)\}.*/\1/p' $events >/tmp/ours
    [ "$(tr '\n' ' ' </tmp/ours)" = '0 1 2 3 ' ] || fail "rdi: $(cat $events)"
    cmp /tmp/last /tmp/ours || fail "the kprobe: $(cat /tmp/theirs)"
done
expect_line 'by jump' /tmp/dead.err

echo '* what has no value, and where there is nothing'
# refused CODE REGEX ARG...
refused() {
    expected=$1 message=$2
    shift 2
    expect_exit "$expected" probeload trace "$@" --debuginfo "$known" 2>/tmp/refused
    expect_line "$message" /tmp/refused
}
refused 2 '^probeload: .first.: optimized out here.*; alive at values_sum' "known:known.c:$(line gone)" first
refused 9 'no statement begins there: the next line on which one does is .*known\.c:[0-9]+$' \
    "known:known.c:$((begin - 1))"
refused 9 'has no code of a file nosuch.c' known:nosuch.c:3
refused 9 'has no code of a file konwn.c; did you mean .*known.c' known:konwn.c:3
refused 9 'was inlined; it has .*values_add' --inline known:values_ad
refused 9 'no module nosuch is loaded' nosuch:known.c:3
refused 2 'known:argument_lasts is a whole function' known:argument_lasts rdi
expect_exit 3 probeload trace fs/read_write.c:500 2>/tmp/refused
expect_line 'install the package linux-image-.*-dbg, name its folder with --debuginfo' /tmp/refused

echo '* the lines of a function'
probeload lines known:values_sum --debuginfo "$known" --source known >/tmp/lines
expect_line "^ +known\.c:$(line add) +\+0x[0-9a-f]+ jump[[:space:]]+marks = total;.*\[values_add\]$" /tmp/lines
[ "$(grep -c "known.c:$(line add) " /tmp/lines)" = 2 ] || fail "not two instances: $(cat /tmp/lines)"
probeload lines known:values_sum --debuginfo "$known" -j >/tmp/json
expect_line "\"line\":$(line end),\"functions\":\[\"values_sum\"\],\"sites\":\[\{\"site\":\"known:values_sum\+0x[0-9a-f]+\",\"probe\":\"jump\"\}" /tmp/json
expect_exit 9 probeload lines known:nosuch --debuginfo "$known" 2>/dev/null
expect_exit 9 probeload lines known:values_add --debuginfo "$known" 2>/tmp/refused
expect_line "inlined in 2 places, .* 'probeload trace --inline known:values_add'" /tmp/refused

oracle_end
