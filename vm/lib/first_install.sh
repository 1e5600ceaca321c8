#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A user's first command, in a clean Debian that vm/packages made: installs the packages in /packages
# and prints how long that took, as "KEY SECONDS CPU-SECONDS".
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

# timed KEY COMMAND...
timed() {
    local key=$1 TIMEFORMAT='%1R %1U %1S'
    shift
    { time "$@" >/tmp/output 2>&1; } 2>/tmp/times || { cat /tmp/output >&2 && exit 1; }
    awk -v key="$key" '{ printf "%s %.0f %.0f\n", key, $1, $2 + $3 }' /tmp/times
    cat /tmp/output >&2
}

cd /packages
apt-get -q update >&2
# Apart: how long it takes depends on the mirror.
timed download apt-get -qy --download-only install ./*.deb
timed apt apt-get -qy install ./*.deb

# The same once more, alone.
status=$(dkms status djprobe)
[[ $status =~ ^(djprobe/[^,]*),\ ([^,]*),.*:\ installed ]] ||
    { echo "FAIL: DKMS has built no module: $status" >&2 && exit 1; }
timed dkms dkms build --force "${BASH_REMATCH[1]}" -k "${BASH_REMATCH[2]}"
