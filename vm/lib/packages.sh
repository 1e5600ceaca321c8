# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The Debian packages that the project needs, and how they get here.
# shellcheck disable=SC2034  # the lists are for vm/setup

# The compiler that the headers of this Debian's kernels name.
case $DEBIAN in
12) GCC=12 ;;
*) GCC=14 ;;
esac
# To build what is installed. pahole is what Kbuild uses for a module's BTF.
BUILD_PACKAGES=(
    g++ "gcc-$GCC" "g++-$GCC" make cmake ninja-build pkgconf clang bpftool pahole
    libbpf-dev libelf-dev libdw-dev libdebuginfod-dev zlib1g-dev libzydis-dev libzycore-dev libcli11-dev libfmt-dev
    nlohmann-json3-dev prometheus-cpp-dev libtomlplusplus-dev node-d3 kmod dpkg-dev
)
# To build the tests and to run the VM.
VM_PACKAGES=(
    llvm gdb libgtest-dev libgmock-dev libbenchmark-dev
    qemu-system-x86 busybox-static systemd udev cpio xz-utils lz4 zstd procps python3 bpftrace lcov iproute2
)
# Only for vm/check.
CHECK_PACKAGES=(clang-format clang-tidy git shellcheck libclang-rt-dev llvm-dev)

# A fresh machine may be installing upgrades of its own, a mirror may hiccup.
apt_get() { apt-get -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=5 "$@"; }

# Prints those of its arguments that are not installed.
missing_packages() {
    local installed
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p' || true)
    comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

# Once per run, before the first download: the lists of a fresh machine may be
# absent or name versions that the mirror no longer has.
refresh_lists() {
    [[ -z ${LISTS_FRESH:-} ]] || return 0
    quietly "$BUILD/log/apt-update.log" apt_get update
    LISTS_FRESH=1
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    need_root "packages are missing (${missing[*]})"
    note "installing ${missing[*]}"
    refresh_lists
    DEBIAN_FRONTEND=noninteractive quietly "$BUILD/log/apt-install.log" \
        apt_get -y -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}"
}

need_root() {
    ((EUID == 0)) || die "$1: run it once as root"
}
