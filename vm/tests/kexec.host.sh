#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Another kernel takes over while probes are in the text and are being hit: by kexec, which stops the
# other CPUs by IPI, and by a panic, which stops them by NMI. It must boot, and find what it should.
# on 6.1: what the next kernel finds does not depend on the one before
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=vm/lib/common.sh
. "$top/vm/lib/common.sh"
# shellcheck source=vm/lib/target.sh
. "$top/vm/lib/target.sh"
# shellcheck source=vm/lib/initramfs.sh
. "$top/vm/lib/initramfs.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*"
    cat "$work/out" "$work/err"
    exit 1
}

# What the second kernel runs. Its last word is what vm/run takes for the first one's.
# shellcheck disable=SC2153  # not KERNELS: vm/suite sets it
resolve_kernel "$KERNEL"
mkdir -p "$work/root/.vm" "$work/next"
# shellcheck disable=SC2016  # the guest is to expand that
echo 'echo "second kernel, vmcore: $(ls /proc/vmcore 2>/dev/null)"' >"$work/root/.vm/command"
{ cat "$(base_archive)" && archive "$work/root"; } >"$work/next/initrd"
cp -L "$KERNEL_IMAGE" "$work/next/vmlinuz"

# shellcheck disable=SC2016  # the guest is to expand that
first='. ./lib.sh
probeload attach --func vfs_read bpf/count.bpf.o >/dev/null 2>&1 &
probeload attach --func do_getpgid bpf/count.bpf.o >/dev/null 2>&1 &
probeload attach --func ksys_read --mode int3 bpf/count.bpf.o >/dev/null 2>&1 &
within 30 listed " vfs_read\+.*OPTIMIZED" && within 30 listed " do_getpgid\+.*OPTIMIZED" &&
    within 30 listed " ksys_read\+.*mechanism=int3" || fail "$(cat /sys/kernel/debug/djprobe/list)"
readload --threads 2 >/dev/null &
readload --call getpgid --threads 2 >/dev/null &
sleep 1
kexec "$1" next/vmlinuz next/initrd "console=ttyS0 nr_cpus=1 no_timer_check" || fail "kexec $1"
if [ "$1" = load ]; then kexec run; else echo c >/proc/sysrq-trigger; fi
sleep 100
fail "the first kernel is still there"'

# boot HOW STATUS
boot() {
    local status=0
    "$top/vm/run" --kernel "$KERNEL" --mem 1024 --append crashkernel=256M --timeout 200 \
        --console "$work/console" --add "$work/next" --add "$top/vm/tests/lib.sh" -- \
        sh -c "$first" sh "$1" >"$work/out" 2>"$work/err" || status=$?
    ((status == $2)) || fail "$1: exit status $status, not $2"
}

boot load 0
grep -qx 'second kernel, vmcore: ' "$work/out" || fail 'after kexec: no second kernel'
# 126: the console has the panic that was asked for, and nothing before it.
boot panic 126
grep -qx 'second kernel, vmcore: /proc/vmcore' "$work/out" || fail 'after the panic: no second kernel'
grep -q 'the kernel complained: .*sysrq triggered crash' "$work/err" || fail 'the panic is another one'
