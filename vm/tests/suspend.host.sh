#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The machine sleeps, and is restored from an image of its memory, while probes are in the text, on
# their way into it, and being hit. All of them go on and count exactly.
# on 6.12: the notifiers of suspend are the same on each kernel
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
truncate -s 1G "$work/swap"

# shellcheck disable=SC2016  # the guest is to expand that
guest='. ./lib.sh
knobs=/sys/kernel/debug/djprobe
attach() {
    probeload attach --func "$@" bpf/count.bpf.o >/dev/null 2>/tmp/err &
    loaders="$loaders $!"
}
# What returns to the kernel that wakes up without having returned: firmware and the image begin
# elsewhere. A shadow of its return address would be left over, in the way of those below it.
never_returns() {
    for function in kernfs_fop_write_iter "$1"; do
        attach $function --ret --ret-mode shadow
        within 30 listed " $function\+.*SHADOW" || fail "$function: $(cat $knobs/list /tmp/err)"
    done
}
sleep_in_ram() {
    never_returns x86_acpi_enter_sleep_state
    echo 0 >/sys/class/rtc/rtc0/wakealarm
    # Preparing the sleep must not take longer: then no timer would wake it up.
    echo +30 >/sys/class/rtc/rtc0/wakealarm
    # Meanwhile another process has begun to write an image, and goes on with that afterwards: what
    # such a sleep does without returning is not over with this one.
    exec 9</dev/snapshot
    echo mem >/sys/power/state || fail "mem: $?"
    ! is_seen || fail "awake, but for the image"
    exec 9<&-
    is_seen || fail "still asleep: $(cat $knobs/list)"
}
# Whether a write, which is a call that never_returns() sees, is not missed.
is_seen() {
    before=$(without_instance)
    echo 0 >/sys/class/rtc/rtc0/wakealarm
    [ "$before" = "$(without_instance)" ]
}
without_instance() {
    sed -n "s/.* kernfs_fop_write_iter+.*SHADOW.* missed=\([0-9]*\).*/\1/p" $knobs/list
}
# Kernels before 6.4 write the image, but do not read it back in the same boot: the disk is the
# swap of a running system. They go on as they do when a hibernation fails.
hibernate() {
    never_returns swsusp_save
    echo test_resume >/sys/power/disk
    echo disk >/sys/power/state || dmesg | tail -n 20 | grep -q "Image not found (code -16)" ||
        fail "disk: $(dmesg | tail -n 20)"
}

insmod virtio_blk.ko
within 10 test -b /dev/vda || fail "no disk"
mkswap /dev/vda >/dev/null
swapon /dev/vda
readload --threads 2 --count 100 >/tmp/warm
oracle_begin
for down in "$@"; do
    loaders=
    attach __x64_sys_getpgid
    attach do_getpgid --mode int3
    within 30 listed " __x64_sys_getpgid\+.*OPTIMIZED" || fail "$(cat $knobs/list /tmp/err)"
    within 30 listed " do_getpgid\+.*mechanism=int3" || fail "$(cat $knobs/list /tmp/err)"
    readload --call getpgid --threads 2 >/tmp/calls &
    load=$!
    attach vfs_read
    attach vfs_write
    sleep 1
    $down
    within 30 listed " vfs_read\+.*OPTIMIZED" || fail "$down: $(cat $knobs/list /tmp/err)"
    within 30 listed " vfs_write\+.*OPTIMIZED" || fail "$down: $(cat $knobs/list /tmp/err)"
    sleep 1
    kill -TERM $load
    wait $load || fail "$down: the callers noticed: $(cat /tmp/calls)"
    expect_line "^calls [1-9][0-9]{3,} wrong 0$" /tmp/calls
    calls=$(sed -n "s/^calls \([0-9]*\) .*/\1/p" /tmp/calls)
    for probe in "__x64_sys_getpgid\+.*OPTIMIZED" "do_getpgid\+.*mechanism=int3"; do
        listed " $probe.* hits=$calls missed=0\$" || fail "$down: not $calls hits: $(cat $knobs/list)"
    done
    end_loaders $loaders
done
oracle_end'
# 7.3 loses what comes over virtio-serial after a hibernation, with QEMU 7.2 and 10, whether or not
# anything is probed.
# The RT kernel does not always come back from S3, whether or not anything is probed: QEMU resets.
# The debug kernel has no ACPI, and so no S3.
ways=(sleep_in_ram hibernate)
# shellcheck disable=SC2153  # not KERNELS: vm/suite sets it
[[ $KERNEL != *-rt && $KERNEL != debug ]] || ways=(hibernate)
"$top/vm/run" --kernel "$KERNEL" --mem 512 --timeout 300 --serial --append no_console_suspend --kmod virtio_blk \
    --qemu -drive --qemu "file=$work/swap,format=raw,if=virtio" --console "$work/console" \
    --add "$top/vm/tests/lib.sh" -- sh -c "$guest" sh "${ways[@]}"
# What is restored does not remember how.
expected='Image loading done'
[[ $KERNEL != 6.1 ]] || expected='Image saving done'
grep -aq "$expected" "$work/console" || {
    echo "FAIL: no '$expected'"
    exit 1
}
