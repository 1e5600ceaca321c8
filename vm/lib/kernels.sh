# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Debian's kernels and their headers, unpacked beside the build, not installed:
# a test must not change what the user's machine boots.
#
# build/kernels/ALIAS/: release, vmlinuz, modules, headers, vmlinux, and root/,
# the unpacked packages that the first ones point into. Where its modules must be built in another
# Debian, debian points to that. Where optional is there, only the target kernel-ALIAS builds them.

# newest_6_12 FLAVOUR: of Debian 12's backports, or Debian 13's. The signed image has no suffix;
# -unsigned and -dbg do not end so.
newest_6_12() {
    apt-cache search --names-only "^linux-image-6\.12\..*\+deb1[23](\.[0-9]+)?-$1\$" |
        sed -n 's/^linux-image-\(6\.12\.[^ ]*\) .*/\1/p' | sort -V | tail -n 1
}

# Whose backports the kernel of an alias comes from, where that is not this machine's Debian. They
# name a compiler and tools that only that Debian has.
foreign_debian() {
    case $1 in
    7) echo 13 ;;
    esac
}

# in_debian ROOT COMMAND...: here, where ROOT is empty.
in_debian() {
    local root=$1
    shift
    if [[ -z $root ]]; then "$@"; else "$TOP/vm/lib/enter" "$root" "$@"; fi
}

# setup_foreign RELEASE: a Debian that builds modules and knows its backports, in FOREIGN.
setup_foreign() {
    FOREIGN=$BUILD/deps/debian-$1
    if [[ ! -e $FOREIGN/complete ]]; then
        install_packages debootstrap
        make_debian "$1" "$FOREIGN" ca-certificates,gcc-14,g++-14,make,libelf1t64,pahole,libzycore-dev,kmod
        add_backports "$FOREIGN"
        touch "$FOREIGN/complete"
    fi
    quietly "$BUILD/log/apt-update-$1.log" in_debian "$FOREIGN" apt-get -q -o Acquire::Retries=5 update
}

newest_7() {
    in_debian "$FOREIGN" apt-cache search --names-only '^linux-image-7\..*\+deb13-cloud-amd64$' |
        sed -n 's/^linux-image-\(7\.[^ ]*\) .*/\1/p' | sort -V | tail -n 1
}

# Prints the newest release of ALIAS that the package lists know.
newest_release() {
    case $1 in
    7) newest_7 ;;
    6.1-generic)
        apt-cache depends linux-image-amd64 |
            sed -n 's/^ *Depends: linux-image-\(6\.1\..*-amd64\)$/\1/p' | head -n 1
        ;;
    6.12-generic) newest_6_12 amd64 ;;
    6.1)
        apt-cache depends linux-image-cloud-amd64 |
            sed -n 's/^ *Depends: linux-image-\(6\.1\..*-cloud-amd64\)$/\1/p' | head -n 1
        ;;
    6.12) newest_6_12 cloud-amd64 ;;
    6.12-rt) newest_6_12 rt-amd64 ;;
    esac
}

# The packages that make an image bootable and its modules buildable.
kernel_packages() {
    local release=$1
    printf '%s\n' "linux-image-$release" "linux-headers-$release"
    # From 7.2 on the image is split.
    in_debian "$FOREIGN" apt-cache depends "linux-image-$release" "linux-headers-$release" |
        sed -nE 's/^ *Depends: (linux-headers-.*-common(-rt)?|linux-kbuild-.*|linux-(base|binary|modules)-.+)$/\1/p' |
        sort -u
}

# The payload of a bzImage is where its setup header says (boot protocol 2.08):
# a search for magic numbers, as extract-vmlinux does, may find a wrong one.
# The kernel's build appends the unpacked size (4 bytes), which xz and lz4
# would take for garbage.
extract_vmlinux() {
    local image=$1 out=$2 sects offset length tool
    sects=$(od -An -tu1 -j $((0x1f1)) -N 1 "$image")
    offset=$(od -An -tu4 -j $((0x248)) -N 4 "$image")
    length=$(od -An -tu4 -j $((0x24c)) -N 4 "$image")
    offset=$(((sects + 1) * 512 + offset))
    case $(od -An -tx1 -j "$offset" -N 4 "$image" | tr -d ' ') in
    fd377a58) tool=xz ;;
    28b52ffd) tool=zstd ;;
    02214c18) tool=lz4 ;;
    1f8b*) tool=gzip ;;
    *) die "$image: unknown compression of the kernel" ;;
    esac
    head -c $((offset + length - 4)) "$image" | tail -c +$((offset + 1)) | "$tool" -dc >"$out"
}

# Debian's headers find their common part by an absolute path; make it relative
# to the Makefile itself, so that the tree works where it was unpacked.
relocate_headers() {
    # shellcheck disable=SC2016  # make is to expand this, not the shell
    sed -i -e 's|^include /usr/src/|include $(dir $(realpath $(lastword $(MAKEFILE_LIST))))../|' \
        -e 's|^KBUILD_OUTPUT=/usr/src/.*|KBUILD_OUTPUT := $(realpath $(dir $(lastword $(MAKEFILE_LIST))))|' \
        "$1/Makefile"
    if grep -q '/usr/src' "$1/Makefile" "$1/.kernelvariables"; then
        die "$1: still refers to /usr/src; its layout is a new one, see lib/kernels.sh"
    fi
}

# fetch_kernel ALIAS RELEASE: all or nothing; an existing one is replaced at the end.
fetch_kernel() {
    local alias=$1 release=$2 dir=$BUILD/kernels/$1 new=$BUILD/kernels/.new-$1 deb
    local -a packages
    note "fetching the kernel $release"
    rm -rf "$new"
    mkdir -p "$new/debs" "$new/root"
    mapfile -t packages < <(kernel_packages "$release")
    # The download is into our own tree, which apt's sandbox user may not enter.
    (cd "$new/debs" && quietly "$BUILD/log/apt-download-$alias.log" in_debian "$FOREIGN" \
        apt-get -q -o Acquire::Retries=5 -o APT::Sandbox::User=root download "${packages[@]}")
    for deb in "$new"/debs/*.deb; do
        dpkg-deb -x "$deb" "$new/root"
    done
    rm -r "$new/debs"
    # depmod looks below lib/modules; packages of Debian 13 have usr/lib/modules.
    [[ -e $new/root/lib ]] || ln -s usr/lib "$new/root/lib"
    if [[ -e $new/root/boot/vmlinuz-$release ]]; then
        ln -s "root/boot/vmlinuz-$release" "$new/vmlinuz"
    else
        ln -s "root/lib/modules/$release/vmlinuz" "$new/vmlinuz"
    fi
    [[ -z $FOREIGN ]] || ln -s "../../deps/${FOREIGN##*/}" "$new/debian"
    [[ " ${MORE_KERNELS[*]} " != *" $alias "* ]] || touch "$new/optional"
    ln -s "root/lib/modules/$release" "$new/modules"
    ln -s "root/usr/src/linux-headers-$release" "$new/headers"
    relocate_headers "$new/headers"
    quietly "$BUILD/log/depmod-$alias.log" depmod -b "$new/root" "$release"
    extract_vmlinux "$new/vmlinuz" "$new/vmlinux"
    printf '%s\n' "$release" >"$new/release"
    rm -rf "$dir"
    mv "$new" "$dir"
}

# setup_kernel ALIAS UPGRADE: what is here is kept unless UPGRADE is 1.
setup_kernel() {
    local alias=$1 upgrade=$2 have='' newest foreign
    if [[ -r $BUILD/kernels/$alias/release ]]; then
        have=$(<"$BUILD/kernels/$alias/release")
        ((upgrade)) || return 0
    fi
    need_root "the kernel $alias is to be fetched"
    refresh_lists
    foreign=$(foreign_debian "$alias")
    FOREIGN=
    [[ -z $foreign ]] || setup_foreign "$foreign"
    newest=$(newest_release "$alias")
    [[ -n $newest ]] || die "no package of a kernel $alias: is this Debian 12 or 13 with its security suite?"
    [[ $newest == "$have" ]] || fetch_kernel "$alias" "$newest"
}
