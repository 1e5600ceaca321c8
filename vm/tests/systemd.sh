# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# For guest tests that need systemd, behind lib.sh. It runs in a PID namespace of its own, with its
# journal and probeload's unit, and nothing else. `# vm:` of services.test adds the files.

install_systemd() {
    mkdir -p /run /etc/systemd/system /lib/systemd /usr/bin /usr/sbin /var/log /usr/local/sbin /etc/probeload
    mount -t tmpfs tmpfs /run
    mv systemd systemd-journald /lib/systemd/
    mv systemctl journalctl /usr/bin/
    # Newer ones run each unit by way of this, which they know there.
    [ ! -e systemd-executor ] || { mkdir -p /usr/lib/systemd && mv systemd-executor /usr/lib/systemd/; }
    ln -sf /usr/local/bin/probeload /usr/local/sbin/probeload
    ln -sf /usr/local/bin/probeload /usr/sbin/probeload
    cp probeload@.service /etc/systemd/system/
    echo 0123456789abcdef0123456789abcdef >/etc/machine-id
    # A rate that a test can exceed; the journal multiplies it where it has room.
    printf '[Journal]\nRateLimitIntervalSec=1h\nRateLimitBurst=10\n' >/etc/systemd/journald.conf
    cat >/etc/systemd/system/systemd-journald.service <<END
[Unit]
DefaultDependencies=no
[Service]
Type=notify
ExecStart=/lib/systemd/systemd-journald
StandardOutput=null
END
    cat >/etc/systemd/system/default.target <<END
[Unit]
DefaultDependencies=no
Wants=systemd-journald.service
END
    for target in sysinit basic; do
        printf '[Unit]\nDefaultDependencies=no\n' >/etc/systemd/system/$target.target
    done
}

# continue_under_systemd TEST: starts it, and the test anew in its namespace, with the word "inside".
continue_under_systemd() {
    # shellcheck disable=SC2016 # the inner shell is to expand that
    unshare -p -f -m sh -c 'mount -t proc proc /proc && container=djprobe exec /lib/systemd/systemd --system \
        --log-target=null --show-status=no' &
    systemd_is_up() { systemd=$(cat "/proc/$1/task/$1/children") && [ -n "$systemd" ] && [ -e /run/systemd/private ]; }
    within 60 systemd_is_up $! || fail 'systemd is not up'
    exec nsenter -t "${systemd% }" -p -m sh -c "cd '$PWD' && exec sh '$1' inside"
}

journal_is_up() { systemctl is-active systemd-journald.service >/dev/null 2>&1; }
await_journal() {
    within 60 journal_is_up || fail "the journal is not up: $(systemctl list-units 2>&1)"
}
