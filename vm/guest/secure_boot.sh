#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the Debian that vm/packages made, booted with Secure Boot: a module by DKMS' key loads and attaches
# where that key is enrolled; where it is not, it does not load, and doctor says what to do.
set -euo pipefail

fail() {
    echo "FAIL: $*" >&2
    exit 1
}
# says REGEX: a line of /tmp/said.
says() { grep -Eq "$1" /tmp/said || fail "no line '$1': $(cat /tmp/said)"; }

grep -q '\[integrity\]' /sys/kernel/security/lockdown || fail "no Secure Boot: $(cat /sys/kernel/security/lockdown)"
key=$(sed -E 's/.*djprobe\.key=([a-z]*).*/\1/' /proc/cmdline)
reads=/usr/share/djprobe/examples/vfs_read.bpf.o

# As in first_event.sh.
load() {
    sed '/^# Automatically added/,/^# End automatically/d' /var/lib/dpkg/info/djprobe-dkms.postinst |
        sh -s configure >/tmp/said 2>&1
}

case $key in
enrolled)
    load || fail "$(cat /tmp/said)"
    [[ ! -s /tmp/said ]] || fail "the installation says: $(cat /tmp/said)"
    [[ $(cat /sys/module/djprobe/taint) == O ]] || fail "tainted as $(cat /sys/module/djprobe/taint)"
    probeload doctor >/tmp/said || fail "doctor: $(cat /tmp/said)"
    says "^ok +signature +by 'DKMS module signing key', whose key the kernel has \(Secure Boot\)$"
    says '^ok +lockdown +integrity: '
    probeload attach --backend djprobe --func vfs_read -c 'head -n 1 /etc/passwd' "$reads" >/tmp/said 2>&1
    says '^vfs_read.*: hits [1-9][0-9]*, missed 0, by jump$'
    says 'name="passwd"'
    ;;
unknown)
    load || fail "a module that does not load fails the installation: $(cat /tmp/said)"
    says 'Key was rejected by service'
    says "^djprobe-dkms: djprobe.ko is not loaded: 'probeload doctor' says what to do$"
    code=0
    probeload doctor >/tmp/said 2>&1 || code=$?
    [[ $code == 1 ]] || fail "doctor: exit status $code"
    says "^bad +signature +by 'DKMS module signing key', whose key this kernel does not have \(Secure Boot\): enroll its certificate and reboot  -> mokutil --import /var/lib/dkms/mok.pub$"
    code=0
    probeload attach --backend djprobe --func vfs_read "$reads" >/dev/null 2>/tmp/said || code=$?
    [[ $code == 6 && $(wc -l </tmp/said) == 1 ]] || fail "attach: exit status $code: $(cat /tmp/said)"
    # The kernel's own probes need no module.
    probeload attach --func vfs_read -c 'head -n 1 /etc/passwd' "$reads" >/tmp/said 2>&1
    says 'name="passwd"'
    ;;
*) fail "the command line: $(cat /proc/cmdline)" ;;
esac
echo "Secure Boot, key $key: as it must be"
