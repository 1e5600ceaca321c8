# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Which kernel a VM boots, and what belongs to it.
# shellcheck disable=SC2034  # the results of resolve_kernel

# Prints the release in a bzImage's setup header; fails if it is none.
bzimage_release() {
    local image=$1 at
    [[ $(dd if="$image" bs=1 skip=$((0x202)) count=4 status=none | tr -d '\0') == HdrS ]] || return 1
    at=$(od -An -tu2 -j $((0x20e)) -N 2 "$image")
    dd if="$image" bs=1 skip=$((at + 0x200)) count=128 status=none | tr '\0' ' ' | cut -d ' ' -f 1
}

# resolve_kernel ALIAS|VMLINUZ sets
#   KERNEL_KEY      the alias, or the release of a kernel of the user's
#   KERNEL_IMAGE    what QEMU boots
#   KERNEL_RELEASE
#   KERNEL_ROOT     below which lib/modules/RELEASE is
#   KERNEL_HEADERS  what its modules are built with
resolve_kernel() {
    local name=$1
    if [[ " ${KERNELS[*]} ${MORE_KERNELS[*]} debug " == *" $name "* ]]; then
        local dir=$BUILD/kernels/$name setup=vm/setup
        [[ $name != debug ]] || setup='vm/setup --debug-kernel'
        [[ " ${MORE_KERNELS[*]} " != *" $name "* ]] || setup="vm/setup --kernel $name"
        [[ -r $dir/release ]] || die "the kernel $name is not here yet: run $setup"
        KERNEL_KEY=$name
        KERNEL_IMAGE=$dir/vmlinuz
        KERNEL_RELEASE=$(<"$dir/release")
        KERNEL_ROOT=$dir/root
        KERNEL_HEADERS=$dir/headers
    else
        [[ -r $name ]] || die "no kernel $name: neither one of ${KERNELS[*]} ${MORE_KERNELS[*]} debug nor a readable file"
        KERNEL_RELEASE=$(bzimage_release "$name") || die "$name is not a bzImage"
        KERNEL_KEY=$KERNEL_RELEASE
        KERNEL_IMAGE=$name
        KERNEL_ROOT=
        KERNEL_HEADERS=/lib/modules/$KERNEL_RELEASE/build
        # Built in or loadable, without these the guest has no way to tell its output.
        modprobe --show-depends -d / -S "$KERNEL_RELEASE" -a virtio_pci virtio_console >/dev/null 2>&1 ||
            die "no virtio modules of $KERNEL_RELEASE in /lib/modules: install linux-image-$KERNEL_RELEASE"
    fi
}

# Prints the path of djprobe.ko for the resolved kernel. Those of the matrix
# come from the build; for any other kernel Kbuild decides what is to be done.
module_of_kernel() {
    local out=$BUILD/kmod/$KERNEL_KEY
    if [[ -z $KERNEL_ROOT ]]; then
        [[ -r $KERNEL_HEADERS/Makefile ]] ||
            die "no headers of $KERNEL_RELEASE in $KERNEL_HEADERS: install linux-headers-$KERNEL_RELEASE, or use --no-module"
        quietly "$BUILD/log/kmod-$KERNEL_KEY.log" "$TOP/kmod/build" --kdir "$KERNEL_HEADERS" \
            --out "$out" --zydis "$BUILD/deps/zydis" || die "djprobe.ko does not build for $KERNEL_RELEASE"
    fi
    require_product "$out/djprobe.ko" "$([[ ! -e ${KERNEL_IMAGE%/*}/optional ]] || echo " --target kernel-$KERNEL_KEY")"
    printf '%s\n' "$out/djprobe.ko"
}

# require_product FILE [OPTIONS]: of the build that makes it.
require_product() {
    [[ -r $1 ]] || die "${1#"$TOP/"} is not built: run cmake -S . -B build -G Ninja && cmake --build build${2:-}"
}
