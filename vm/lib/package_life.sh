#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A user's way with the packages, in a Debian that vm/packages made: installs an older version, then
# this one over it, uses it, and purges it. The packages are in /packages, the older ones in old/.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# Paths that have our names.
ours() { find / -xdev \( -path /packages -o -path /proc -o -path /sys -o -path /dev \) -prune -o -print | grep -E 'djprobe|probeload' || true; }

apt-get -q update
# The headers are those of a kernel that this Debian does not run: DKMS builds the module for it.
apt-get -qy install --no-install-recommends linux-headers-cloud-amd64 kmod
[[ -z $(ours) ]] || fail "before the installation: $(ours)"
built() { find /lib/modules -path '*/updates/dkms/djprobe.ko*'; }

echo '* an older version'
apt-get -qy install --no-install-recommends /packages/old/*.deb
[[ -e /usr/share/djprobe/examples/of_old.txt ]] || fail 'the older version is not installed'
getent group probeload >/dev/null || fail 'there is no group probeload'
[[ -z $(getent group probeload | cut -d: -f4) ]] || fail 'the group probeload has members'
echo 'file = "/usr/share/djprobe/examples/count.bpf.o"' >/etc/probeload/mine.toml

echo '* this one over it'
apt-get -qy install --no-install-recommends /packages/*.deb
[[ ! -e /usr/share/djprobe/examples/of_old.txt ]] || fail 'a file of the older version is left'
[[ -e /etc/probeload/mine.toml ]] || fail 'what the user declared is lost'
[[ $(built | wc -l) == 1 ]] || fail "DKMS has built no module, or several: $(built; cat /var/lib/dkms/djprobe/*/build/make.log)"
[[ $(modinfo -F version "$(built)") == "$(dpkg-query -W -f '${Version}' djprobe-dkms)" ]] || fail 'the module is of another version'
all=(probeload libprobeload0 libprobeload-dev djprobe-dkms)
[[ -z $(dpkg --verify "${all[@]}") ]] || fail "changed files: $(dpkg --verify "${all[@]}")"
ldconfig -p | grep -q 'libprobeload\.so\.0 ' || fail 'the dynamic linker does not find libprobeload.so.0'

echo '* what it is used for without a kernel'
[[ $(probeload --version) == "probeload $(dpkg-query -W -f '${Version}' probeload) "* ]] || fail 'another version'
rules=$(dpkg -L probeload | grep '/udev/rules.d/')
grep -q 'GROUP="probeload", MODE="0660"' "$rules" || fail "$rules does not name the group"
[[ -e /usr/share/djprobe/grafana/djprobe.json ]] || fail 'no dashboard'
[[ -e /usr/share/djprobe/fleet/30-probeload-sender.conf ]] || fail 'nothing for fleets'
code=0
probeload attach --backend djprobe --func vfs_read /usr/share/djprobe/examples/count.bpf.o 2>/tmp/said || code=$?
[[ $code == 6 && $(wc -l </tmp/said) == 1 ]] || fail "without a module, exit status $code: $(cat /tmp/said)"

echo '* removed, and purged'
apt-get -qy remove "${all[@]}"
[[ -z $(built) ]] || fail "a module is left: $(built)"
[[ -e /etc/probeload/mine.toml ]] || fail 'what the user declared is lost'
rm /etc/probeload/mine.toml
# Unlike apt it takes one that has left no trace for purged.
dpkg --purge "${all[@]}"
[[ -z $(ours) ]] || fail "left behind: $(ours)"
