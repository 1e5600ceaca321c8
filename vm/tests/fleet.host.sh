#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a probe prints gets from one host's journal to another host's file, as docs/fleets.md says: by
# the files of loader/service/fleet, Debian's rsyslog and journald, between two network namespaces. The
# lines are those of probeload in a VM; a writer gives them to journald as systemd's services do.
# on 6.12: rsyslog sends the same lines of each kernel
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
recipe=$top/loader/service/fleet deps=$top/build/deps/rsyslog
work=$(mktemp -d)
declare -A host daemon
trap 'kill "${daemon[@]}" "${host[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*" >&2
    tail -n 20 "$work"/*.err "$work"/*/log/syslog >&2 || true
    exit 1
}
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}
# on HOST COMMAND...: becomes the command, for a signal to reach.
on() { exec nsenter -t "${host[$1]}" -m -n -u -- "${@:2}"; }
start() {
    (on "$1" python3 -c 'import os, socket
path = "/run/systemd/journal/syslog"
if not os.path.exists(path): socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind(path)')
    on "$1" env LD_LIBRARY_PATH="$deps/lib" RSYSLOG_MODDIR="$deps/lib/rsyslog" \
        "$deps/rsyslogd" -n -i NONE 2>>"$work/$1.err" &
    daemon[$1]=$!
}
# stop HOST [SIGNAL]
stop() {
    kill -s "${2:-TERM}" "${daemon[$1]}"
    # Its status is that of the signal.
    wait "${daemon[$1]}" 2>/dev/null || true
    unset "daemon[$1]"
}

# What is sent: events that came from a kernel, and what may be hard to carry.
# shellcheck disable=SC2016  # the guest is to expand that
"$top/vm/run" --kernel "$KERNEL" -- probeload attach --func vfs_read -j \
    -c 'for i in $(seq 300); do head -n 1 /etc/passwd; done >/dev/null' bpf/vfs_read.bpf.o \
    >"$work/events" 2>"$work/text" || fail "the guest: $(cat "$work/text")"
events=$(wc -l <"$work/events")
((events > 300)) || fail "only $events lines of probeload"
python3 - >"$work/hard" <<'END'
import json
print(json.dumps({"type": "event", "name": "long", "data": {"a": ["x" * 100] * 6000}}))
print(json.dumps({"type": "event", "name": "bytes", "data": {"a": "\u007f\t\n\" \\ %s $HOME <1>1 \u00e9\u20ac  "}},
                 ensure_ascii=False))
END
# No two are the same: a time gets a digit more.
for digit in 1 2 3; do
    sed "s/\"ts_ns\":/&$digit/; s/\"received\":/&$digit/" "$work/events"
done | cat "$work/hard" - >"$work/sent"

# Two hosts: what they write and are configured by is their own.
for name in probed collector; do
    mkdir -p "$work/$name"/{dev,log,run,spool}
    cp -a /etc "$work/$name/etc"
    unshare -m -n -u --propagation private sleep infinity &
    host[$name]=$!
done
for name in probed collector; do
    # Not before its mounts are its own.
    apart() { [[ $(cat "/proc/${host[$name]}/comm") == sleep ]]; }
    within 5 apart || fail "no namespaces of $name"
done
ip link add eth0 netns "${host[probed]}" type veth peer name eth0 netns "${host[collector]}"
set_up() {
    # rsyslogd makes /dev/log anew where systemd has not made the socket that journald forwards to. What
    # the kernel logs goes to one reader only: not to these.
    # shellcheck disable=SC2016  # the inner shell is to expand that
    (on "$1" sh -ec 'hostname "$0"
        for node in null zero random urandom; do
            >"$1/dev/$node"
            mount --bind "/dev/$node" "$1/dev/$node"
        done
        for at in etc:/etc log:/var/log run:/run spool:/var/spool; do
            mount --bind "$1/${at%:*}" "${at#*:}"
        done
        mount --rbind "$1/dev" /dev
        mkdir -p /run/systemd/system /run/systemd/journal /run/log/journal /var/spool/rsyslog /etc/rsyslog.d
        sed /imklog/d "$2" >/etc/rsyslog.conf
        ip link set lo up && ip link set eth0 up && ip addr add "$3/24" dev eth0' \
        "$1" "$work/$1" "$deps/rsyslog.conf" "$2")
}
set_up probed 192.0.2.1
set_up collector 192.0.2.2
etc=$work/probed/etc
echo '192.0.2.2 collector.example' >>"$etc/hosts"
echo 0123456789abcdef0123456789abcdef >"$etc/machine-id"
cp "$recipe/30-probeload-collector.conf" "$work/collector/etc/rsyslog.d/"
# Only waiting is shorter.
sed 's/interval="60"/interval="1"/; s/resumeInterval="5"/resumeInterval="1"/' \
    "$recipe/30-probeload-sender.conf" >"$etc/rsyslog.d/30-probeload-sender.conf"
mkdir -p "$etc/systemd/journald.conf.d"
cp "$recipe/probeload-journald.conf" "$etc/systemd/journald.conf.d/"
# The rate that the service's unit sets: this writer has no unit.
printf '[Journal]\nRateLimitIntervalSec=0\n' >"$etc/systemd/journald.conf.d/rate.conf"
for name in probed collector; do
    (LD_LIBRARY_PATH=$deps/lib RSYSLOG_MODDIR=$deps/lib/rsyslog on $name "$deps/rsyslogd" -N1 \
        >"$work/check" 2>&1) || fail "rsyslogd -N1 on $name: $(cat "$work/check")"
    ! grep -Ei 'error|warning' "$work/check" || fail "rsyslogd -N1 on $name: $(cat "$work/check")"
done
on probed /lib/systemd/systemd-journald 2>"$work/journald.err" &
daemon[journald]=$!
within 10 test -S "$work/probed/run/systemd/journal/stdout" || fail 'no journald'

# write_as SERVICE FILE...: as a service's stdout. Prints for how many ms journald has held it up.
write_as() {
    (on probed python3 -c '
import array, fcntl, pathlib, socket, sys, termios, time
stream = socket.socket(socket.AF_UNIX)
# journald believes root only, and knows who writes once it has asked for that: a service that systemd
# has not started may be quicker.
stream.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
stream.connect("/run/systemd/journal/stdout")
stream.sendall(f"probeload\nprobeload@{sys.argv[1]}.service\n30\n0\n1\n0\n0\n".encode())
begin = time.monotonic()
for name in sys.argv[2:]:
    stream.sendall(pathlib.Path(name).read_bytes())
print(int((time.monotonic() - begin) * 1000))
# Of a process that has ended it knows less.
unread = array.array("i", [1])
while unread[0]:
    time.sleep(0.01)
    fcntl.ioctl(stream, termios.TIOCOUTQ, unread)' "$@")
}
files=$work/collector/log/probeload/probed
arrived() { [[ -e $files/$1.ndjson && $(wc -l <"$files/$1.ndjson") -ge $2 ]]; }

echo '* each line arrives, in order and unchanged; text for people does not'
start collector
start probed
# It reads what comes from now on.
read_from_here() { grep -q 'probeload-send queue' "$files/rsyslog.ndjson" 2>/dev/null; }
within 20 read_from_here || fail 'the sender does not come up'
write_as reads "$work/text" "$work/sent" >"$work/ms"
within 20 arrived reads "$(wc -l <"$work/sent")" || fail 'lines are missing'
cmp "$work/sent" "$files/reads.ndjson" || fail 'other lines'
python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$files/reads.ndjson" || fail 'no JSON'
text=$(grep -m 1 '^attached' "$work/text")
grep -qF "$text" "$work/probed/log/syslog" || fail 'the text is not in the syslog of the probed host'
! grep -q '"type":"event"' "$work/probed/log/syslog" || fail 'events are in the syslog of the probed host'

echo '* nothing is lost when the collector is away, nor when the sender starts again'
lines=$(wc -l <"$work/sent")
write_as again "$work/sent" >"$work/ms" &
writer=$!
within 20 arrived again 20 || fail 'no lines of the second service'
stop collector
wait "$writer"
write_as again "$work/sent" >"$work/ms"
start collector
within 30 arrived again $((2 * lines)) || fail "lost: $(wc -l <"$files/again.ndjson") of $((2 * lines))"
write_as again "$work/sent" >"$work/ms" &
writer=$!
within 20 arrived again $((2 * lines + 20)) || fail 'no more lines of the second service'
stop probed
wait "$writer"
start probed
within 30 arrived again $((3 * lines)) || fail "lost: $(wc -l <"$files/again.ndjson") of $((3 * lines))"
cat "$work/sent" "$work/sent" "$work/sent" | cmp - "$files/again.ndjson" || fail 'other lines after the restart'

echo '* what waits on disk outlives the sender'
# What is sent before the sender knows that nobody is there is lost with it: docs/fleets.md. Here these
# are its own numbers.
noticed() { (($(grep -c 'opening connection to remote peer' "$work/probed.err") > $1)); }
known=$(grep -c 'opening connection to remote peer' "$work/probed.err" || true)
stop collector
within 10 noticed "$known" || fail 'the sender does not notice that the collector has gone'
write_as waits "$work/sent" >"$work/ms"
spool=$work/probed/spool/rsyslog
queued() { (($(cat "$spool"/probeload-send.* 2>"$work/none" | grep -c '"type":"event"') >= lines - 20)); }
within 10 queued || fail 'the lines are not on disk'
stop probed
start probed
start collector
within 20 arrived waits "$lines" || fail 'what waited is lost'
# The one that rsyslogd was trying to send when it ended may come late, and twice.
sort -u "$files/waits.ndjson" | cmp <(sort "$work/sent") - || fail 'other lines after waiting'

echo '* a collector that is killed loses nothing; lines may come twice'
write_as killed "$work/sent" >"$work/ms" &
writer=$!
within 20 arrived killed 20 || fail 'no lines of the third service'
stop collector KILL
wait "$writer"
start collector
missing() { sort "$work/sent" | comm -23 - <(sort "$files/killed.ndjson") | wc -l; }
all_there() { (($(missing) == 0)); }
within 20 all_there || fail "$(missing) lines are lost with a killed collector"

echo '* a full queue holds up nobody; what it drops is counted'
stop probed
stop collector
sed -i 's/maxDiskSpace="1g"/maxDiskSpace="1m" queue.maxFileSize="100k"/' "$etc/rsyslog.d/30-probeload-sender.conf"
start probed
sent=$(($(wc -l <"$work/events") * 12))
events=$work/events
write_as full "$events" "$events" "$events" "$events" "$events" "$events" "$events" "$events" \
    "$events" "$events" "$events" "$events" >"$work/ms"
ms=$(cat "$work/ms")
((ms < 5000)) || fail "the writer was held up for $ms ms"
write_as full "$work/text" >"$work/ms"
logged() { (($(grep -cF "$text" "$work/probed/log/syslog") > 1)); }
within 20 logged || fail 'the probed host logs nothing else'
full() { (($(cat "$spool"/probeload-send.* | wc -c) > 1000000)); }
within 20 full || fail 'the queue does not fill'
# More than it holds comes, whoever reads it meanwhile.
sleep 1
start collector
# counted: the numbers after the last line was dropped
dropped() { sed -n 's/.*"probeload-send queue".*"discarded.full": \([0-9]*\).*/\1/p' "$files/rsyslog.ndjson" | tail -n 1; }
counted() { arrived full 1 && (($(dropped) + $(wc -l <"$files/full.ndjson") >= sent)); }
within 30 counted || fail "of $sent lines $(wc -l <"$files/full.ndjson") are there, $(dropped) counted as dropped"
(($(dropped) > 0)) || fail 'the queue was not full'
echo "$sent lines, $(wc -l <"$files/full.ndjson") arrived, $(dropped) dropped; journald took them in $ms ms"
