#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm/run's own promises. Runs on the host; $KERNEL is the kernel to boot.
# on 6.1: nothing of vm/run depends on the kernel
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*" >&2
    cat "$work/err" >&2
    exit 1
}

# run STATUS ARG...: vm/run must end with STATUS; its output is in $work.
run() {
    local expected=$1 status=0
    shift
    vm/run --kernel "$KERNEL" --no-module "$@" >"$work/out" 2>"$work/err" || status=$?
    ((status == expected)) || fail "exit status $status, not $expected: $*"
}

# shellcheck disable=SC2016  # the guest is to expand that
# The command's words, output and status arrive unchanged.
run 77 -- sh -c 'printf "%s|" "$@"; echo diagnosis >&2; exit 77' sh "it's" 'two  words' '' '$HOME' '*'
[[ $(<"$work/out") == "it's|two  words||\$HOME|*|" ]] || fail "arguments: $(<"$work/out")"
[[ $(<"$work/err") == diagnosis ]] || fail 'stderr is not what the command wrote'

# All of a long output, and binary.
run 0 -- sh -c 'seq 300000; head -c 100000 /dev/zero'
[[ $(sha256sum <"$work/out") == $({ seq 300000 && head -c 100000 /dev/zero; } | sha256sum) ]] ||
    fail 'a long output was damaged'

# VMs that are alike go on from one that has booted: each as if it were the first, with the host's time.
# shellcheck disable=SC2016  # the guest is to expand that
first='cat /proc/sys/kernel/random/boot_id; date +%s; ls /; echo mine >/mine'
run 0 -- sh -c "$first"
mapfile -t one <"$work/out"
run 0 -- sh -c "$first"
mapfile -t other <"$work/out"
[[ ${one[0]} == "${other[0]}" ]] || fail 'each VM boots'
grep -qx mine "$work/out" && fail 'a VM finds what another one has written'
((other[1] - $(date +%s) > -60 && other[1] <= $(date +%s))) || fail "the guest's time is ${other[1]}"
run 0 --boot -- cat /proc/sys/kernel/random/boot_id
[[ $(<"$work/out") != "${one[0]}" ]] || fail '--boot does not boot'

# A process left behind holds neither the status nor the output back.
run 0 --timeout 120 -- sh -c 'sleep 1000 & echo here'
[[ $(<"$work/out") == here ]] || fail 'output beside a background process'

# Files: a dynamic program gets its libraries, a directory all of its content.
mkdir -p "$work/tree/deep"
echo content >"$work/tree/deep/file"
cp "$(command -v ls)" "$work/tree/deep/"
run 0 --add "$(command -v sort)" --add "$work/tree" -- \
    sh -c 'grep -qx content tree/deep/file && ./sort --version && tree/deep/ls --version'
for program in sort ls; do
    grep -q "^$program (GNU" "$work/out" || fail "the dynamic program $program does not run"
done

# Output comes while the command runs.
mkfifo "$work/live"
vm/run --kernel "$KERNEL" --no-module -- sh -c 'echo early; sleep 1000' >"$work/live" 2>"$work/err" &
vm=$!
read -r -t 60 line <"$work/live" || true
[[ $line == early ]] || fail 'no output before the end'
# And SIGTERM ends all of it.
qemu=$(pgrep -P "$vm" qemu || true)
kill "$vm"
status=0
wait "$vm" || status=$?
((status == 143)) || fail "exit status $status after SIGTERM"
[[ -n $qemu ]] || fail 'QEMU was not found'
[[ ! -e /proc/$qemu ]] || fail 'QEMU survived vm/run'

# The kernel's complaints fail the run, whatever the command says. Output needs a moment to leave the
# guest: what a process says right before the panic dies with it.
run 126 -- sh -c 'echo before; sleep 3; echo c >/proc/sysrq-trigger'
[[ $(<"$work/out") == before ]] || fail 'output before a panic was lost'
grep -q 'Kernel panic - not syncing: sysrq' "$work/err" || fail 'a panic is not shown'
run 126 -- sh -c 'echo l >/proc/sysrq-trigger; exit 0'
grep -q 'Call Trace' "$work/err" || fail 'a backtrace is not shown'
for line in 'BUG: scheduling while atomic: x/1' 'WARNING: possible circular locking dependency' \
    'rcu: INFO: rcu_preempt detected stalls on CPUs/tasks' 'INFO: task x:1 blocked for more than 120 seconds'; do
    run 126 -- sh -c "echo '<3>$line' >/dev/kmsg"
done
# What sounds like one and is none does not.
run 0 --append 'quiet nonsense=BUG:' -- sh -c 'echo "<3>RETBleed: WARNING: Spectre v2 DEBUG: x" >/dev/kmsg'

# The runner's own failures.
run 124 --timeout 5 -- sleep 1000
grep -q 'no end after 5 s' "$work/err" || fail 'the timeout is not named'
run 125
run 125 --cpus none -- true
run 125 --add "$work/absent" -- true
run 125 --qemu -nonsense -- true
run 125 --icount --cpus 2 -- true
run 0 --icount --mem 512 --cpu Haswell -- true

# Whatever QEMU's version, one thread runs all vCPUs (or KVM does): with a thread for each QEMU keeps
# stale translations of patched text.
mkdir "$work/bin"
cat >"$work/bin/qemu-system-x86_64" <<'EOF'
#!/bin/sh
[ "$1" != --version ] || { echo 'QEMU emulator version 10.0.13'; exit; }
echo "$@" >"$QEMU_ARGUMENTS"
PATH=$REAL_PATH exec qemu-system-x86_64 "$@"
EOF
chmod +x "$work/bin/qemu-system-x86_64"
(
    export REAL_PATH=$PATH QEMU_ARGUMENTS=$work/arguments
    export PATH=$work/bin:$PATH
    run 0 --cpus 2 -- true
)
grep -qE -- '-accel (tcg,thread=single|kvm) ' "$work/arguments" || fail "QEMU runs as: $(<"$work/arguments")"
