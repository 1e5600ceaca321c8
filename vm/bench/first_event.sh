#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a VM: see vm/bench/first_event, which calls it with the site of a line and what to show there.
set -eu
# Where clang looks for what it brings along, and for headers.
resources=$(./clang -print-resource-dir)
mkdir -p "${resources%/*}" /usr/include
ln -sfn "$PWD/resources" "$resources"
cp -R include/* /usr/include/
export PATH="$PWD:$PATH"

milliseconds() { awk '{ print int($1 * 1000) }' /proc/uptime; }
# One line: how long COMMAND took to its first event, which is its second line.
first_event() {
    what=$1 && shift
    begin=$(milliseconds)
    "$@" 2>err | {
        read -r _ || exit 1
        read -r _ || exit 1
        echo "$(($(milliseconds) - begin)) ms  $what"
    } && return
    cat err >&2
    exit 1
}

# A load that leaves the CPU to the command.
(while :; do readload --threads 1 --count 10 >/dev/null && sleep 0.02; done) &
load=$!
first_event 'a function, the first command since the module came' probeload trace vfs_read count -n 1
first_event 'a function, another question' probeload trace vfs_read 'count, file' -n 1
first_event 'a function, the same question again' probeload trace vfs_read 'count, file' -n 1
first_event 'a return with the call'"'"'s arguments' probeload trace vfs_read:return 'retval, count' -n 1
if [ -e vmlinux ]; then
    at() { probeload trace "$@" --debuginfo vmlinux -n 1; }
    first_event "$1, the first question with debug information" at "$1" "$2"
    first_event "$1, another question" at "$1" "$2, file"
    first_event 'an inlined function, no index yet' at --inline add_rchar amt
    first_event 'an inlined function, the index is there' at --inline add_rchar 'amt, tsk'
fi
kill "$load"
