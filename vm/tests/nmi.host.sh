#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Non-maskable interrupts, some thousand, in the middle of attach, detach and hits. They come through QEMU's
# monitor; no driver in the guest claims them, which is what the kernel says of each.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'kill "${vm:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
seconds=${SECONDS_EACH:-8}

# shellcheck disable=SC2016  # the guest is to expand that
"$top/vm/run" --kernel "$KERNEL" --cpus 4 --timeout $((seconds + 120)) --append 'loglevel=1 log_buf_len=16M preempt=full' \
    --add "$top/vm/tests/lib.sh" --add "$top/build/vm/storm" \
    --qemu -monitor --qemu "unix:$work/monitor,server=on,wait=off" --console "$work/console" -- \
    sh -c '. ./lib.sh; readload --threads 2 --count 100 >/tmp/warm; oracle_begin
           echo go; ./storm --seconds "$1" --seed "$2" || fail storm; oracle_end
           expect_no_complaint; cat /proc/interrupts' \
    sh "$seconds" "${SEED:-1}" >"$work/out" &
vm=$!
python3 - "$work" <<'PY' &
import socket, sys, time
deadline = time.monotonic() + 30
while True:
    monitor = socket.socket(socket.AF_UNIX)
    try:
        monitor.connect(f"{sys.argv[1]}/monitor")
        break
    except OSError:
        if time.monotonic() > deadline:
            sys.exit("no monitor")
        time.sleep(0.1)
try:
    while "go\n" not in open(f"{sys.argv[1]}/out"):  # not in the middle of booting
        time.sleep(0.1)
except FileNotFoundError:
    sys.exit()  # the machine has gone
try:
    while True:
        monitor.sendall(b"nmi\n")
        monitor.recv(65536)
        time.sleep(0.002)
except OSError:
    pass  # the machine has gone
PY
status=0
wait "$vm" || status=$?
vm=
cat "$work/out"
((status == 0)) || exit "$status"
nmis=$(awk '$1 == "NMI:" { print $2 + $3 + $4 + $5 }' "$work/out")
echo "NMIs $nmis"
((nmis > 100)) || {
    echo "FAIL: only $nmis NMIs arrived"
    exit 1
}
