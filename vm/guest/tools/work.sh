#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the compared tools watch: the same each time. Files are named wk_N, ports are 7771 to 7774,
# and what the shell does by itself it does as "wkload".
echo wkload >/proc/self/comm
cd /tmp || exit 1
i=0
while [ $i -lt 60 ]; do
    i=$((i + 1))
    echo some text >wk_$i
    read -r line <wk_$i
    [ -e wk_no_such ] || [ "$line" = 'some text' ] || exit 1
done
mv wk_1 wk_moved
rm wk_*
dd if=/dev/zero of=wk_large bs=4k count=200 2>/dev/null
cat wk_large >/dev/null
rm wk_large
touch wk_owned
chown nobody wk_owned
rm wk_owned
for port in 7771 7772 7773 7774; do
    nc -l -p $port </dev/null >/dev/null &
    tries=0
    until echo hello | nc 127.0.0.1 $port >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 50 ] || exit 1
        usleep 100000
    done
    wait
done
