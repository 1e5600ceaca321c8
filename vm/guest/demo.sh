#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In the guest of vm/demo: some processes read files, probeload watches them.
for reader in 'head -n 1' 'grep -c x' wc 'tail -n 1' md5sum; do
    while :; do
        for file in /etc/passwd /proc/version /proc/meminfo /proc/self/maps; do
            $reader "$file" >/dev/null
            usleep 300000
        done
    done &
done
exec probeload attach --func vfs_read -d 5 bpf/vfs_read.bpf.o
