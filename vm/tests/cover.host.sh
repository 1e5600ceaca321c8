#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What probeload cover says of functions that count themselves, and that genhtml reads it.
# on 6.1: coverage follows from counts, which blocks.test looks at
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

fail() {
    echo "FAIL: $*" >&2
    exit 1
}
# expect REGEX FILE
expect() { grep -Eq -- "$1" "$work/$2" || fail "no line of $2 matches: $1: $(cat "$work/$2")"; }

# The switch takes 0 to 3, and 6 by way of known_returns(): its case 5 never.
cat >"$work/guest.sh" <<'END'
set -eu
known=$(grep -l "vermagic=$(uname -r) " known/*.ko)
insmod "$known"
run='echo 4 >/sys/module/known/parameters/run'
probeload cover 'known:known_*' --debuginfo "$known" --lcov /tmp/info --pcs /tmp/pcs -c "$run" >&2
cat /tmp/info
echo '--- pcs'
cat /tmp/pcs
echo '--- annotated'
probeload cover known:known_switch --source . --debuginfo "$known" --annotate -c "$run"
echo '--- once'
probeload cover 'known:known_*' -c "$run" | grep all
probeload cover 'known:known_*' --once -c "$run; usleep 600000; probeload list >/tmp/list; $run" |
    grep all
grep -c 'not in the text' /tmp/list
# An older report stays until there is a new one.
echo old >/tmp/kept
probeload cover known:known_switch --pcs /tmp/kept -c "cat /tmp/kept >/tmp/meanwhile; $run" >/dev/null
[ "$(cat /tmp/meanwhile)" = old ]
grep -q '^0x' /tmp/kept
code=0
probeload cover known:known_switch --lcov /tmp/never.info -c true || code=$?
[ "$code" -eq 3 ]
code=0
probeload cover known:known_switch --debuginfo "$known" --lcov /no/folder -c true || code=$?
[ "$code" -eq 1 ]
END
"$top/vm/run" --kernel "$KERNEL" --add "$top/build/vm/known" --add "$top/vm/guest/known/known.c" \
    --add "$work/guest.sh" -- \
    sh ./guest.sh >"$work/out" 2>"$work/err" || fail "the guest: $(cat "$work/err")"
cat "$work/err"
expect '^ +[0-9]+/[0-9]+ +[1-9][0-9]% .* known:known_switch$' err
expect '^ +([0-9]+)/\1 +100% .* known:known_loops$' err
expect '^probeload: --lcov: /no/folder: No such file or directory$' err
expect '^probeload: no debug information of the module known: install the package' err

sed '/^--- pcs$/,$d' "$work/out" >"$work/known.info"
ran=$(sed -nE 's|^ +([0-9]+)/[0-9]+ .* \(all\)$|\1|p' "$work/err")
pcs=$(sed -n '/^--- pcs$/,/^---/p' "$work/out" | grep -cE '^0xffffffff[0-9a-f]{8}$')
[[ $pcs -eq $ran ]] || fail "$ran blocks have run, $pcs addresses"
# The case that did not run is at 0, its neighbour is not.
line=$(grep -n 'case 5:' "$top/vm/guest/known/known.c" | cut -d: -f1)
expect "^DA:$((line + 1)),0$" known.info
expect "^DA:$((line - 2)),1$" known.info
expect " 0 +known.c:$((line + 1)) .*HERE;" out

# What the compiler calls the file may be the name of another machine, or of none.
sed -i "s|^SF:.*known\.c$|SF:$top/vm/guest/known/known.c|" "$work/known.info"

# With --once the same blocks have run, and meanwhile their counters are out of the text.
mapfile -t once < <(sed '1,/^--- once$/d' "$work/out")
[[ ${once[0]} == "${once[1]}" && ${once[2]} -eq $ran ]] || fail "--once: ${once[*]}"

genhtml --quiet "$work/known.info" -o "$work/html" || fail 'genhtml'
page=$(find "$work/html" -name 'known.c.gcov.html')
grep -Eq '(lineNoCov|tlaUNC).*sum -= n / 3' "$page" || fail "genhtml does not show what did not run"
grep -Eq '(lineCov|tlaGNC).*sum \^= 0x55' "$page" || fail "genhtml does not show what ran"
