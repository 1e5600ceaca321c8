#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Questions whose answers are known, for vm/tests/trace.host.sh. On the host, where a compiler is,
# TRACE_EMIT makes each of them an object in the cache; in the VM the same questions find them.
# shellcheck disable=SC1091 # vm/tests/lib.sh, which lies beside it in the VM
. ./lib.sh

# ask NAME ARG...: the events in /tmp/NAME.
ask() {
    name=$1
    shift
    # shellcheck disable=SC2086 # two options
    probeload trace "$@" ${TRACE_EMIT:-} >"${TRACE_OUT:-/tmp}/$name" 2>"${TRACE_OUT:-/tmp}/$name.err" || {
        cat "${TRACE_OUT:-/tmp}/$name.err" >&2
        fail "exit status $?: probeload trace $*"
    }
}

# refused CODE MESSAGE ARG...: where there is a module; without it these are programs, too.
refused() {
    expected=$1 message=$2
    shift 2
    if [ -n "${TRACE_EMIT:-}" ]; then
        ask refused "$@"
        return
    fi
    expect_exit "$expected" probeload trace "$@" 2>/tmp/refused
    [ "$(cat /tmp/refused)" = "probeload: $message" ] || fail "trace $*: $(cat /tmp/refused)"
}

zeros='dd if=/dev/zero of=/dev/null bs=4321 count=3 2>/dev/null'

# dd within a control group, and beside it.
grouped="$zeros; echo \$\$ >/sys/fs/cgroup/ours/below/cgroup.procs; exec $zeros"
page='' metrics=''
[ -n "${TRACE_EMIT:-}" ] || page='--report /tmp/page.html' metrics='--metrics-file /tmp/hist.prom'

warm_up() {
    ask stack vfs_read count --kstack --comm dd -n 1 -c "$zeros"
}

questions() {
    ask reads vfs_read -j --comm dd --if 'count == 4321' -c "$zeros" \
        'file->f_path.dentry->d_name.name:str, count, count:x, (int)count * 2 + 1, file->f_inode->i_sb->s_type->name:str 9, *pos, file->f_inode->i_sb->s_id:str'
    ask returns vfs_read:return -j --comm dd --if 'retval == 4321' -c "$zeros" \
        'retval, count, file->f_path.dentry->d_name.name:str, latency, latency > 0 && latency < 5000000000'
    ask forks attach_pid type --columns comm -c '/bin/true; /bin/true'
    ask execs begin_new_exec:return --csv --columns time -c /bin/true \
        'retval, bprm->point_of_no_return, bprm->filename:str'
    ask maps do_mmap --csv --columns comm -c /bin/true 'len, prot, (unsigned long)populate >> 56 == 0xff'
    ask connect tcp_v4_connect --csv -c 'nc -w 1 127.0.0.1 9 </dev/null; true' \
        '((struct sockaddr_in *)uaddr)->sin_addr:ip, uaddr->sa_family, uaddr:hex 2, sk->__sk_common.skc_prot->connect:sym'
    ask sums vfs_read:return --sum retval --by comm --if 'retval == 4321' --csv --comm dd -c "$zeros"
    ask least vfs_read --min '(int)count - 5000' --if 'count == 4321' --comm dd -c "$zeros"
    # shellcheck disable=SC2086 # two options, or none
    ask hist vfs_read:return $metrics --hist retval --by 'file->f_path.dentry->d_name.name:str 8' --if 'retval == 4321 || retval == -9' --comm dd -c "$zeros"
    ask narrow vfs_read --hist '(int)count - 1' --by func --if 'count == 4321' --comm dd --csv -c "$zeros"
    ask tasks wake_up_new_task --count-by 'p->comm, p->prio' --csv --comm sh -c "/bin/true; /bin/true"
    ask latency 'vfs_*' --latency --by func -j --comm dd --top 100 -c "$zeros"
    ask own vfs_write count -j -c 'sleep 0.3; echo 12345'
    ask folded vfs_read --count-by comm --kstack --folded --comm dd --if 'count == 4321' -c "$zeros"
    ask module known:known_loops pid --csv --columns comm -c 'echo 4 >/sys/module/known/parameters/run'
    ask filtered vfs_read:return 'retval, latency' --comm nosuch -c "$zeros"
    ask steps vfs_read --hist 'count:linear(0,5000,5)' --if 'count == 4321 || count == 9000' --comm dd --csv \
        -c "$zeros; dd if=/dev/zero of=/dev/null bs=9000 count=2 2>/dev/null"
    ask group vfs_read count --csv --columns comm --cgroup /sys/fs/cgroup/ours --if 'count == 4321' -c "$grouped"
    ask wall vfs_read count --csv --comm dd --if 'count == 4321' --times wall --columns time -c "$zeros"
    # shellcheck disable=SC2086 # two options, or none
    ask page vfs_read:return 'retval, latency' --kstack --comm dd --if 'retval == 4321' $page -c "$zeros"
    ask library vfs_read 'count, file->f_path.dentry->d_name.name:str 9, pos' -j --if 'count == 4321' -c "$zeros"
    ask library_returns vfs_read:return 'retval, count' -j --if 'retval == 4321' -c "$zeros"
    ask library_name vfs_read count -j --comm dd --if 'count == 4321' -c "$zeros"
    ask library_sums vfs_read:return --sum retval --by comm --if 'retval == 4321' -j -c "$zeros"
    ask library_steps vfs_read --hist 'count:linear(0,5000,5)' --if 'count == 4321' -j -c "$zeros"
    ask library_times 'vfs_*' --latency --by func -j --top 100 -c "$zeros"
    ask headless vfs_read --count-by 'count, comm' --csv --comm nosuch -c "$zeros"
}

# A busybox of any such name does what it is told; the last name is cut off at 15 letters.
names='busybox_letters busybox_lettera busybox_Letters busybox_letter busybox_letters2'
# shellcheck disable=SC2016 # the command is to expand that
each_reads='for name in $names; do /tmp/$name dd if=/dev/zero of=/dev/null bs=4321 count=100 & done
/tmp/busybox_letters dd if=/dev/zero of=/dev/null bs=2469 count=50; wait'
numbered_reads='echo >/tmp/begin; read -r _ </tmp/end
/tmp/busybox_letters dd if=/dev/zero of=/dev/null bs=4321 count=50'
export names

# The program was written before there was any task: one with this number reads once it is told to.
# Another task may take the number first.
begin_numbered() {
    rm -f /tmp/begin /tmp/end /tmp/numbered
    mkfifo /tmp/begin /tmp/end
    for _ in 1 2 3 4 5 6 7 8; do
        rm -f /tmp/other
        {
            echo 29999 >/proc/sys/kernel/ns_last_pid
            sh -c '[ $$ = 30000 ] || exit 0; : >/tmp/numbered; read -r _ </tmp/begin
                exec /tmp/busybox_letters dd if=/dev/zero of=/dev/null bs=4321 count=100'
            if [ -e /tmp/numbered ]; then echo >/tmp/end; else : >/tmp/other; fi
        } &
        within 20 is_decided || fail 'a shell does not begin'
        [ ! -e /tmp/numbered ] || return 0
    done
    fail 'no task 30000'
}
is_decided() { [ -e /tmp/numbered ] || [ -e /tmp/other ]; }

# filtered [OPTION...]: which calls pass is decided in front of the program, or by it.
filtered() {
    ask by_name vfs_read --count-by comm --csv --comm busybox_letters -c "$each_reads" "$@"
    ask by_both vfs_read --count-by count --csv --comm busybox_letters --if 'count > 4000 && edx != 4096' -c "$each_reads" "$@"
    ask by_value vfs_read --count-by comm --csv --if 'count == 4321' -c "$each_reads" "$@"
    # A kernel of 6.1 has no probe of many functions.
    case "${way:-}$(uname -r)" in
    kernel6.1.*) ;;
    *) ask by_many 'vfs_r*' --count-by 'comm, func' --csv --if 'edx == 4321' -c "$each_reads" "$@" ;;
    esac
    [ -n "${TRACE_EMIT:-}" ] || begin_numbered
    ask by_number vfs_read count --csv --columns comm --pid 30000 --tid 30000 --if 'count != 1 && count < 0x80000000' -c "$numbered_reads" "$@"
}

refusals() {
    refused 9 'sys_openat: no such function; did you mean __x64_sys_openat, io_openat?' sys_openat pid
}

if [ -n "${TRACE_EMIT:-}" ]; then
    warm_up
    questions
    filtered
    refusals
    exit
fi

export XDG_CACHE_HOME="$PWD/cache"

# The warm-up: what the commands do, and a probe of each kind.
nc -w 1 127.0.0.1 9 </dev/null 2>/dev/null || true
warm_up
insmod known/known.ko
mkdir -p /sys/fs/cgroup/ours/below
oracle_begin
questions

echo '* what an entry is given: strings, numbers, members, forms'
[ "$(wc -l </tmp/reads)" = 4 ] || fail "not three events and the summary: $(cat /tmp/reads)"
expect_line '"name":"vfs_read","data":\{"time":[0-9]+,"cpu":[01],"pid":[0-9]+,"comm":"dd","name":"zero","count":4321,"count_2":"0x10e1","value":8643,"name_2":"devtmpfs","pos":0,"s_id":"devtmpfs"\}' /tmp/reads

echo '* what returns know of their entry'
expect_line '"comm":"dd","retval":4321,"count":4321,"name":"zero","latency":[1-9][0-9]*,"value":1\}' /tmp/returns
[ "$(wc -l </tmp/returns)" = 4 ] || fail "not three returns: $(cat /tmp/returns)"

echo '* enums, bits, arguments on the stack, casts, addresses, symbols'
for type in PIDTYPE_PID PIDTYPE_TGID PIDTYPE_PGID PIDTYPE_SID; do
    expect_line "^sh +$type\$" /tmp/forks
done
expect_line '^[0-9]+\.[0-9]{6},0,1,/bin/true$' /tmp/execs
expect_line '^true,4096,1,1$' /tmp/maps
expect_no_line ',0$' /tmp/maps
expect_line ',nc,127\.0\.0\.1,2,0200,tcp_v4_connect\+0x0$' /tmp/connect

echo '* the tracer itself is left out: its output makes no events'
expect_line '"comm":"sh","count":6\}' /tmp/own
expect_no_line '"comm":"probeload"' /tmp/own

echo '* stacks'
expect_line '^ +[0-9]+\.[0-9]{6} +[01] +[0-9]+ dd +4321$' /tmp/stack
expect_line '^    vfs_read\+0x[0-9a-f]+$' /tmp/stack
expect_line '^    (ksys_read|__x64_sys_read)\+0x' /tmp/stack

echo '* results'
expect_line '^sum,count,comm$' /tmp/sums
expect_line '^12963,3,dd$' /tmp/sums
expect_line '^4096,8191,3,vfs_read$' /tmp/narrow
expect_line '^[1-9],sh,120$' /tmp/tasks
expect_line '^ +-679 +3$' /tmp/least
expect_line '^ +3  zero$' /tmp/hist
expect_line '^ +4096 -> 8191 +3 ' /tmp/hist
expect_line '^djprobe_value_count\{site="vfs_read:return",of="retval",key_name="zero"\} 3$' /tmp/hist.prom
expect_line '^djprobe_value_bucket\{site="vfs_read:return",.*,le="4095"\} 0$' /tmp/hist.prom
expect_line '^djprobe_value_bucket\{site="vfs_read:return",.*,le="8191"\} 3$' /tmp/hist.prom
expect_line '^djprobe_hits_total\{' /tmp/hist.prom
expect_line '"key":\{"func":"vfs_read"\},"count":[3-9]' /tmp/latency
expect_line '"key":\{"func":"vfs_write"\},"count":[34],"negative":0,"slots":\[\{"from":' /tmp/latency
expect_line '^dd;.*;(ksys_read|__x64_sys_read);.*vfs_read 3$' /tmp/folded

[ "$(head -n 1 /tmp/headless)" = count,count_2,comm ] || fail "$(cat /tmp/headless)"

expect_no_line 'on_entry' /tmp/filtered.err

echo '* equal steps, control groups, the time of day'
[ "$(cat /tmp/steps)" = 'from,to,count
4000,4999,3
5000,,2' ] || fail "$(cat /tmp/steps)"
[ "$(cat /tmp/group)" = 'comm,count
dd,4321
dd,4321
dd,4321' ] || fail "not the three in the group: $(cat /tmp/group)"
expect_line "^$(date +%Y)-.*T[0-9:.]*[+-][0-9]{4},4321\$" /tmp/wall

echo '* a report'
expect_line '^report: /tmp/page.html$' /tmp/page.err
expect_line '"place":"vfs_read:return"' /tmp/page.html
expect_line '"total":3,' /tmp/page.html
expect_line '\["vfs_read\+0x|\["(ksys_read|__x64_sys_read)\+0x' /tmp/page.html

echo '* what the detour keeps itself, without a program, is what the program says'
probeload trace vfs_read --hist count --if 'count > 4096' --explain >/tmp/explained
expect_line "^vfs_read, --hist 'count': in the detour itself, by 2 actions: " /tmp/explained
probeload trace vfs_read --hist count --if 'count == 4321' --csv -c "$zeros" >/tmp/detour 2>/tmp/detour.err
expect_line '^4096,8191,3$' /tmp/detour
probeload trace vfs_read --hist count --if 'count == 4321' --metrics-file /tmp/detour.prom -c "$zeros" >/tmp/detour 2>/tmp/detour.err
expect_line '^djprobe_value_bucket\{site="vfs_read",of="count",le="8191"\} 3$' /tmp/detour.prom
probeload trace vfs_read --avg count --if 'count == 4321' --csv -c "$zeros" >/tmp/detour 2>/tmp/detour.err
expect_line '^4321\.0,3$' /tmp/detour
probeload trace 'vfs_r*' --count-by func --if 'rdx == 4321' -j -c "$zeros" >/tmp/detour 2>/tmp/detour.err
expect_line '"key":\{"func":"vfs_read"\},"count":3\}' /tmp/detour
probeload trace --latency --from ksys_read --to ksys_read:return -c "$zeros" >/tmp/detour 2>/tmp/detour.err ||
    fail "$(cat /tmp/detour.err)"

echo '* which hits a program sees is the same whoever decides it: the detour, at a jump or int3, or the program'
probeload trace vfs_read --if 'count > 4096' --comm dd --explain >/tmp/explained
expect_line "^in front of it, in the detour itself: --comm, --if 'count > 4096': of other hits the program does not run$" /tmp/explained
for name in $names; do
    ln -s /bin/busybox "/tmp/$name"
done
# lines NAME LINE...: all that came, in any order.
lines() {
    name=$1
    shift
    printf '%s\n' "$@" | sort >/tmp/expected
    sort "/tmp/$name" | cmp -s - /tmp/expected || fail "$way: $name: $(cat "/tmp/$name")"
}
for way in jump int3 kernel; do
    echo "  by $way"
    case $way in
    int3) probeload off --jumps ;;
    kernel) set -- --backend kernel ;;
    esac
    filtered "$@"
    lines by_name count,comm 250,busybox_letters
    lines by_both count,count_2 200,4321
    lines by_value count,comm 200,busybox_letters 100,busybox_lettera 100,busybox_Letters 100,busybox_letter
    lines by_many count,comm,func 200,busybox_letters,vfs_read 100,busybox_lettera,vfs_read \
        100,busybox_Letters,vfs_read 100,busybox_letter,vfs_read
    lines by_number comm,count "$(yes busybox_letters,4321 | head -n 100)"
    hits=200
    [ $way != kernel ] || hits='[0-9]{3,}'
    expect_line "^vfs_read.*: hits $hits, missed 0, by " /tmp/by_both.err
    cat /tmp/by_*.err
done
probeload on --jumps

echo '* a module without types'
expect_line '^sh,[0-9]+$' /tmp/module

echo '* what is no place'
refusals
refused 9 "kprobe:vfs_read: 'kprobe' is no module: write vfs_read" kprobe:vfs_read
refused 9 'vfs_read:ret: vfs_read is a function, and no module: for its returns: probeload trace vfs_read:return' \
    vfs_read:ret retval
refused 9 'nosuch:vfs_raed: no module nosuch is loaded: modprobe nosuch' nosuch:vfs_raed

echo '* an application asks the same by libprobeload'
alike() { grep '"type":"event"' "$1" | sed -E 's/"(time|cpu|pid|pos)":[^,}]*//g'; }
# asks NAME WORD...: as the question NAME above.
asks() {
    asked=/tmp/$1
    shift
    ./ask "$zeros" "$@" >/tmp/asked 2>/tmp/err || fail "ask $*: exit status $?: $(cat /tmp/err)"
    expect_line '^attached vfs_read.* by jump$' /tmp/err
    [ "$(wc -l </tmp/asked)" = 3 ] || fail "not three events: $(cat /tmp/asked)"
    alike "$asked" >/tmp/alike
    alike /tmp/asked | cmp - /tmp/alike || fail "probeload shows others: $(cat /tmp/asked "$asked")"
}
asks library vfs_read 'count, file->f_path.dentry->d_name.name:str 9, pos' 'count == 4321'
asks library_returns vfs_read:return 'retval, count' 'retval == 4321'
asks library_name vfs_read count 'count == 4321' dd
code=0
./ask true vfs_read cnt 2>/tmp/err || code=$?
[ $code = 2 ] || fail "exit status $code: $(cat /tmp/err)"
expect_line '^ask: vfs_read has no argument .cnt.; it has file, buf, count, pos$' /tmp/err
code=0
./ask true no_such_function 2>/tmp/err || code=$?
[ $code = 9 ] || fail "exit status $code: $(cat /tmp/err)"
# kept NAME WORD...: likewise what the kernel keeps.
kept() {
    asked=/tmp/$1
    shift
    ./results "$zeros" "$@" >/tmp/kept 2>/tmp/err || fail "results $*: exit status $?: $(cat /tmp/err)"
    grep '"type":"results"' "$asked" | tail -n 1 >/tmp/alike
}
kept library_sums vfs_read:return 'sum retval' comm 'retval == 4321'
expect_line '"key":\{"comm":"dd"\},"count":3,"sum":12963\}' /tmp/kept
cmp /tmp/kept /tmp/alike || fail "probeload shows others: $(cat /tmp/kept /tmp/alike)"
kept library_steps vfs_read 'hist count:linear(0,5000,5)' '' 'count == 4321'
expect_line '\{"from":4000,"to":4999,"count":3\}' /tmp/kept
cmp /tmp/kept /tmp/alike || fail "probeload shows others: $(cat /tmp/kept /tmp/alike)"
kept library_times 'vfs_*' latency func
for function in vfs_read vfs_write; do
    for file in kept alike; do
        expect_line "\"key\":\{\"func\":\"$function\"\},\"count\":[1-9]" /tmp/$file
    done
done
oracle_end
