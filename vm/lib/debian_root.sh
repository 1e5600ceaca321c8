# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A root file system of another Debian, with the package sources of this machine.

# Prints the code name of a release.
debian_suite() {
    case $1 in
    12) echo bookworm ;;
    13) echo trixie ;;
    *) die "'$1' is no release that is known, 12 or 13" ;;
    esac
}

# Prints the first archive that this machine's packages come from.
debian_archive() {
    # Most machines have only some of these files.
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null || true; } |
        sed -nE '/^(URIs:|deb( \[.*\])?) /{s/^(URIs:|deb( \[.*\])?) +([^ ]+).*/\3/p;q}'
}

# The same archives, with the other release's suites.
copy_sources() {
    local suite=$1 root=$2 here file
    here=$(. /etc/os-release && echo "$VERSION_CODENAME")
    rm -f "$root/etc/apt/sources.list"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
        [[ ! -r $file ]] || sed "s/\b$here\b/$suite/g" "$file" >"$root$file"
    done
    # Names that only this machine resolves.
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
}

# The backports of a Debian that has been made, beside its own suites.
add_backports() {
    local suite
    suite=$(sed -n 's/^VERSION_CODENAME=//p' "$1/etc/os-release")
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s-backports main\n' \
        "$(debian_archive)" "$suite" >"$1/etc/apt/sources.list.d/backports.list"
}

# make_debian RELEASE ROOT PACKAGES: replaces what is there. PACKAGES is a list with commas.
make_debian() {
    local suite root=$2
    suite=$(debian_suite "$1")
    note "making a Debian $1 in $root"
    rm -rf "$root"
    mkdir -p "$(dirname "$root")"
    quietly "$BUILD/log/debootstrap-${root##*/}.log" debootstrap --variant=minbase \
        --include="$3" "$suite" "$root" "$(debian_archive)"
    copy_sources "$suite" "$root"
}
