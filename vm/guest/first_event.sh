#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the Debian that vm/packages made, once it has booted: what a user does after the installation.
# Prints how long it takes from the command to its first event.
set -euo pipefail

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# The package's own part of what it does on a machine that runs: without DKMS, which has been at work
# already, and would compile here, emulated.
sed '/^# Automatically added/,/^# End automatically/d' /var/lib/dpkg/info/djprobe-dkms.postinst |
    sh -s configure >&2
udevadm settle
[[ -c /dev/djprobe ]] || fail "the package has not loaded the module: $(probeload doctor)"
[[ $(stat -c %U:%G:%a /dev/djprobe) == root:probeload:660 ]] || fail "udev: $(ls -l /dev/djprobe)"
probeload doctor >&2 || fail 'doctor finds something that keeps it from attaching'

start=${EPOCHREALTIME/./}
coproc probeload attach --backend djprobe --func vfs_read /usr/share/djprobe/examples/vfs_read.bpf.o 2>/tmp/said
# It reads a file by itself.
IFS= read -r -t 60 -u "${COPROC[0]}" event || fail "no event: $(cat /tmp/said)"
spent=$(((${EPOCHREALTIME/./} - start) / 10000))
[[ $event == *count* ]] || fail "no event: $event"
grep -q '^attached vfs_read.* by jump$' /tmp/said || fail "no jump: $(cat /tmp/said)"
kill -INT "$COPROC_PID"
wait "$COPROC_PID" || fail "exit status $?: $(cat /tmp/said)"
printf 'probeload attach         %4d.%02d s to its first event (in this VM)\n' $((spent / 100)) $((spent % 100))
