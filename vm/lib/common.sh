# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What every script of vm/ shares: where things are, and how to speak.
# shellcheck disable=SC2034  # the variables are for those who source this

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$TOP/build
DEBIAN=$(. /etc/os-release && echo "${VERSION_ID:-}")
# The matrix: an alias each, see lib/kernels.sh. Debian 13 has no 6.1.
case $DEBIAN in
12) KERNELS=(6.1 6.12 6.12-rt) ;;
*) KERNELS=(6.12 6.12-rt) ;;
esac
# Fetched by `vm/setup --kernel ALIAS` only. "7" is the newest of Debian 13's backports.
MORE_KERNELS=(6.1-generic 6.12-generic 7)

# What programs print is read here; what is made here is for all users of the guest; a user's PATH
# need not have modprobe.
export LC_ALL=C.UTF-8 PATH=$PATH:/usr/sbin:/sbin
unset LANGUAGE
umask 022

note() { printf '%s: %s\n' "${SELF:-${0##*/}}" "$*" >&2; }

# Exit codes that a script promises differ; 1 fits those that promise none.
die() {
    note "$@"
    exit "${DIE_STATUS:-1}"
}

# `set -e` alone ends a script without a word.
set -E
trap 'note "line $LINENO: failed ($?): $BASH_COMMAND"' ERR

# quietly LOG COMMAND...: the command's output matters only when it fails.
quietly() {
    local log=$1 status=0
    shift
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 || status=$?
    if ((status)); then
        tail -n 20 "$log" >&2
        note "failed ($status): $* (all of its output: $log)"
    fi
    return "$status"
}
