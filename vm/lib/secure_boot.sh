# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A VM whose firmware checks signatures: shim, which Microsoft has signed, starts GRUB, which Debian has
# signed, and that the kernel. The firmware's variables hold Microsoft's keys, as a PC's.

# In Debian 13's FOREIGN: the firmware, the tool that writes its variables, and what it starts.
setup_secure_boot() {
    SECURE=$FOREIGN/opt/secure-boot
    [[ ! -e $SECURE/complete ]] || return 0
    # shellcheck disable=SC2016  # the inner shell is to expand that
    quietly "$BUILD/log/secure-boot.log" in_debian "$FOREIGN" bash -ec '
        DEBIAN_FRONTEND=noninteractive apt-get -qy -o Acquire::Retries=5 install --no-install-recommends \
            ovmf openssl python3-virt-firmware
        mkdir -p /opt/secure-boot
        cd /opt/secure-boot
        # Not installed: they would look for a machine to make bootable.
        apt-get -q -o Acquire::Retries=5 -o APT::Sandbox::User=root download shim-signed grub-efi-amd64-signed
        for deb in *.deb; do dpkg-deb -x "$deb" .; done'
    touch "$SECURE/complete"
}

# secure_variables ROOT FILE KEY: those of a PC. KEY is "enrolled" or "unknown": has the machine's owner
# enrolled the key by which DKMS signs in ROOT (mokutil --import)?
secure_variables() {
    local mok=()
    cp "$1/var/lib/dkms/mok.pub" "$SECURE/mok.der"
    in_debian "$FOREIGN" openssl x509 -inform DER -in /opt/secure-boot/mok.der -out /opt/secure-boot/mok.pem
    # The owner's GUID is shim's.
    [[ $3 != enrolled ]] || mok=(--add-mok 605dab50-e046-4300-abb6-3dd810dd8b23 /opt/secure-boot/mok.pem)
    quietly "$BUILD/log/secure-variables.log" in_debian "$FOREIGN" virt-fw-vars \
        -i /usr/share/OVMF/OVMF_VARS_4M.ms.fd -o /opt/secure-boot/variables.fd "${mok[@]}"
    cp "$SECURE/variables.fd" "$2"
}

# system_partition ROOT FOLDER WORD: with WORD on the kernel's command line.
system_partition() {
    mkdir -p "$2/EFI/BOOT" "$2/EFI/debian"
    cp "$SECURE/usr/lib/shim/shimx64.efi.signed" "$2/EFI/BOOT/BOOTX64.EFI"
    cp "$SECURE/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed" "$2/EFI/BOOT/grubx64.efi"
    cp -L "$1/vmlinuz" "$1/initrd.img" "$2/"
    cat >"$2/EFI/debian/grub.cfg" <<END
set timeout=0
menuentry Debian {
    linux /vmlinuz root=/dev/vda rw console=ttyS0 panic=-1 oops=panic random.trust_cpu=on $3
    initrd /initrd.img
}
END
}

# boot_securely ROOT SCRIPT LOG KEY: as boot_debian, with Secure Boot.
boot_securely() {
    local work
    prepare_boot "$1" "$2"
    work=$(mktemp -d "$BUILD/hosts/vm.XXXXXX")
    make_disk "$1" "$work/disk"
    secure_variables "$1" "$work/variables" "$4"
    system_partition "$1" "$work/system" "djprobe.key=$4"
    qemu_command "$work" "$TCG" - - '' 2 2048 max
    secure_machine "$work"
    # The first device is /dev/vda; QEMU makes those of -drive last.
    QEMU+=(-drive "file=$work/disk,if=none,id=root,format=raw,cache=unsafe" -device "virtio-blk-pci,drive=root"
        -drive "file=fat:$work/system,if=none,id=system,format=raw,readonly=on"
        -device "virtio-blk-pci,drive=system,bootindex=0")
    run_debian "$work" "$3"
}

# secure_machine DIR: the machine of QEMU's command line, which boots no kernel of its own then.
secure_machine() {
    local -a command=("${QEMU[@]}")
    local i
    QEMU=()
    for ((i = 0; i < ${#command[@]}; i++)); do
        case ${command[i]} in
        -kernel | -initrd | -append) i=$((i + 1)) ;;
        pc) QEMU+=("q35,smm=on") ;;
        *) QEMU+=("${command[i]}") ;;
        esac
    done
    # Only code in system management mode may write the variables.
    QEMU+=(-global "driver=cfi.pflash01,property=secure,value=on"
        -drive "if=pflash,unit=0,format=raw,readonly=on,file=$FOREIGN/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
        -drive "if=pflash,unit=1,format=raw,file=$1/variables")
}
