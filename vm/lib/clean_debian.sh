# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A clean Debian as an installation leaves it, with its kernel, and a VM that boots it.

# setup_clean RELEASE: in CLEAN, kept between runs; delete it for newer packages.
setup_clean() {
    CLEAN=$BUILD/deps/debian-$1-clean
    [[ ! -e $CLEAN/complete ]] || return 0
    install_packages debootstrap
    make_debian "$1" "$CLEAN" ca-certificates,systemd-sysv,udev,kmod,zstd,initramfs-tools
    # After the updates of its archives, as a machine that is kept up to date.
    # shellcheck disable=SC2016  # the inner shell is to expand that
    quietly "$BUILD/log/clean-$1.log" in_root "$CLEAN" bash -ec '
        export DEBIAN_FRONTEND=noninteractive
        apt-get -q -o Acquire::Retries=5 update
        apt-get -qy dist-upgrade
        apt-get -qy install --no-install-recommends linux-image-amd64
        apt-get clean'
    touch "$CLEAN/complete"
}

# in_root ROOT COMMAND...: in a Debian that has nothing of this source. The mounts are gone with the
# namespace.
in_root() {
    # shellcheck disable=SC2016  # the inner shell is to expand that
    unshare --mount --propagation private bash -c '
        mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" &&
            exec chroot "$0" "$@"' "$@"
}

# prepare_boot ROOT SCRIPT: SCRIPT runs once the Debian at ROOT has booted, and what it prints and how
# it ends goes to the ports of qemu_command.
prepare_boot() {
    install -m 755 "$2" "$1/usr/local/sbin/vm-script"
    echo '/dev/vda / ext4 defaults 0 1' >"$1/etc/fstab"
    cat >"$1/etc/systemd/system/vm-script.service" <<'END'
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'udevadm settle; cd /dev/virtio-ports; \
    vm-script >djprobe.out 2>djprobe.err; echo "exit $?" >djprobe.status'
END
    ln -sf ../vm-script.service "$1/etc/systemd/system/multi-user.target.wants/"
}

# boot_debian ROOT SCRIPT LOG: boots the Debian at ROOT from a disk, with its own kernel, initramfs and
# systemd, and runs SCRIPT there. Prints what that prints; its stderr and the console are in LOG.
boot_debian() {
    local root=$1 work
    prepare_boot "$root" "$2"
    work=$(mktemp -d "$BUILD/hosts/vm.XXXXXX")
    make_disk "$root" "$work/disk"
    qemu_command "$work" "${TCG}" "$root/vmlinuz" "$root/initrd.img" 'root=/dev/vda rw' 2 2048 max
    QEMU+=(-drive "file=$work/disk,if=virtio,format=raw,cache=unsafe")
    run_debian "$work" "$3"
}

make_disk() { quietly "$BUILD/log/mke2fs.log" mke2fs -q -t ext4 -d "$1" "$2" 4G; }

# run_debian DIR LOG: of what qemu_command has prepared in DIR, to the script's end.
run_debian() {
    local work=$1 log=$2 status=1
    start_qemu "$work"
    await_guest 600
    cat "$work/err" "$work/console" >"$log"
    cat "$work/out"
    [[ $GUEST != 'exit 0' ]] || status=0
    ! splat_of "$work/console" >&2 || status=1
    rm -rf "$work"
    ((status == 0)) || die "the VM: $GUEST (what it said: $log)"
}

# try_first_event RELEASE DEBS...: the two commands of a user, and how long they take.
try_first_event() {
    local release=$1 root=$BUILD/hosts/first-event log=$BUILD/log/packages-$1 times key
    shift
    setup_clean "$release"
    setup_secure_boot
    mkdir -p "$root"
    # dpkg waits for the disk at each file that it unpacks: in memory all else is measured.
    mount -t tmpfs -o size=6G djprobe "$root"
    # shellcheck disable=SC2064  # it is this one
    trap "stop_qemu; umount -l '$root'; rmdir '$root'; rm -rf '$BUILD'/hosts/vm.??????" EXIT
    cp -a "$CLEAN/." "$root"
    mkdir "$root/packages"
    cp "$@" "$TOP/vm/lib/first_install.sh" "$root/packages/"
    note "apt install ./*.deb in a clean Debian $release"
    times=$(in_root "$root" bash /packages/first_install.sh 2>"$log-install.log") ||
        die "the packages do not install: $(tail -n 5 "$log-install.log") (all of it: $log-install.log)"
    awk '
        { spent[$1] = $2; cpu[$1] = $3 }
        END {
            printf "download                 %6.1f s\n", spent["download"]
            printf "apt install ./*.deb      %6.1f s, of CPU time %d s (here, in memory, without the download)\n", spent["apt"], cpu["apt"]
            printf "  DKMS in it, once more  %6.1f s, of CPU time %d s\n", spent["dkms"], cpu["dkms"]
            # A bound that a slow machine moves as well: most of it is the compiler, once.
            if (cpu["apt"] > 6 * cpu["dkms"]) { print "more than six times the module'"'"'s build"; exit 1 }
        }' <<<"$times" || die "the installation takes too long"
    note "booting it: $(basename "$(realpath "$root/vmlinuz")")"
    boot_debian "$root" "$TOP/vm/guest/first_event.sh" "$log-vm.log"
    for key in enrolled unknown; do
        note "booting it with Secure Boot, DKMS' key is $key"
        boot_securely "$root" "$TOP/vm/guest/secure_boot.sh" "$log-secure-$key.log" "$key"
    done
}
