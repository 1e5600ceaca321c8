# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# For guest tests, which begin with `. ./lib.sh`. A test passes when it exits
# with 0 and the kernel had nothing to say; the first `fail` ends it.
set -eu

export ORACLE=/tmp/oracle # the image of the text

exec 3>&2 # where it is seen why, whatever a caller redirects

fail() {
    echo "FAIL: $*" >&3
    exit 1
}

# This test cannot apply here, and why; only before anything was tested.
skip() {
    echo "SKIP: $*"
    exit 77
}

# expect_exit CODE COMMAND...; the output stays visible.
expect_exit() {
    expected=$1
    shift
    code=0
    "$@" || code=$?
    [ "$code" -eq "$expected" ] || fail "exit status $code, not $expected: $*"
}

# expect_line REGEX FILE: an extended regular expression, somewhere in a line.
expect_line() {
    grep -Eq -- "$1" "$2" || {
        cat "$2" >&2
        fail "no line of $2 matches: $1"
    }
}

expect_no_line() {
    ! grep -E -- "$1" "$2" >&2 || fail "a line of $2 matches: $1"
}

# listed REGEX: whether a line of debugfs djprobe/list matches.
listed() { grep -Eq -- "$1" /sys/kernel/debug/djprobe/list; }

# module_of DIRECTORY [NAME]: of its NAME-KERNEL.ko, one for each kernel, this one's.
module_of() {
    for module in "$1/${2:+$2-}"*.ko; do
        if grep -aq "vermagic=$(uname -r) " "$module"; then
            echo "$module"
            return
        fi
    done
    fail "no module in $1 is for $(uname -r)"
}

# within SECONDS COMMAND...: until it succeeds, ten times a second.
within() {
    tries=$(($1 * 10))
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        usleep 100000
    done
}

# On a clock of its own.
centiseconds() { cut -d' ' -f1 /proc/uptime | tr -d .; }

# All that BPF keeps. Nothing but our loaders leaves anything here.
bpf_objects() {
    for kind in prog map link; do
        bpftool "$kind" show || return 1
    done
}

no_bpf_objects() { objects=$(bpf_objects) && [ -z "$objects" ]; }

# end_loaders PID...: by SIGINT, and each of them ends well.
end_loaders() {
    kill -INT "$@"
    for loader in "$@"; do
        wait "$loader" || fail "a loader ended with $? after SIGINT"
    done
}

# Processes that hold the module's device or one of its probes.
probe_holders() {
    for fd in /proc/[0-9]*/fd/*; do
        case $(readlink "$fd" || true) in
        *djprobe*) echo "$fd" ;;
        esac
    done 2>/dev/null
}

# The design's oracle. What a test's workload makes the kernel change in its own
# text (jump labels) must have happened before oracle_begin: run it once first.
# That hits + missed equal the calls, and that the results of the workload are
# those of an unprobed run, only the test itself can say; vm/run looks for splats.
oracle_begin() {
    # The kernel frees programs and maps a grace period after their last user.
    within 10 no_bpf_objects || fail "BPF objects from before: $(bpf_objects)"
    # While the module is loaded ftrace calls it from some of the kernel's functions: two texts.
    rmmod djprobe || fail 'rmmod djprobe before the test'
    textsnap save "$ORACLE.unloaded"
    insmod /lib/djprobe.ko || fail 'insmod djprobe before the test'
    textsnap save "$ORACLE" "$ORACLE.unloaded"
}

same_text() {
    textsnap diff "$ORACLE" >&2 || fail "$1"
}

# The same without the module.
same_text_unloaded() {
    textsnap diff "$ORACLE.unloaded" >&2 || fail "$1"
}

# Ends with the module unloaded.
oracle_end() {
    # Springboards become padding again some time after the jumps to them have gone.
    within 10 textsnap diff "$ORACLE" >/dev/null || same_text 'the text is not what it was before'
    holders=$(probe_holders)
    [ -z "$holders" ] || fail "probes are still held: $holders"
    within 10 no_bpf_objects || fail "BPF objects were left behind: $(bpf_objects)"
    references=$(cat /sys/module/djprobe/refcnt)
    [ "$references" -eq 0 ] || fail "the module still has $references references"
    rmmod djprobe || fail 'rmmod djprobe'
    same_text_unloaded 'the text is not what it was after rmmod'
}

# For tests that keep the kernel's messages off the console, where vm/run looks for these.
# A stack that the test asks for may name any function, __bpf_trace_rcu_stall_warning, too.
expect_no_complaint() {
    dmesg | grep -vE 'ommand line|RCU lockdep checking is enabled|\]  (\? )?[[:alnum:]_.]+\+0x' >/tmp/messages
    expect_no_line '\] (WARNING|UBSAN): |\bBUG: |KASAN: |lockdep|rcu.*(stall|self-detected)' /tmp/messages
}

# probe_tests FILTER: that part of vm/guest/probes, see `# vm:` in its callers.
probe_tests() {
    ./probe_tests --gtest_brief=1 --gtest_filter="$1" || fail "probe_tests $1"
}
