# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The kernel that looks for what Debian's own do not see: KASAN, lockdep, kmemleak
# and fault injection, from Debian's source package. It lies where the kernels of
# the matrix lie (see kernels.sh), under the alias "debug".

DEBUG_SOURCE=linux-source-6.12
DEBUG_PACKAGES=(flex bison bc rsync libssl-dev)

# What the fragment asks for and the configuration does not have: a name that has
# changed must not silently make the kernel a plain one.
missing_options() {
    local fragment=$1 config=$2
    comm -23 <(grep -E '^CONFIG_' "$fragment" | sort) <(sort "$config")
}

configure_debug_kernel() {
    local tree=$1 fragment=$TOP/vm/lib/debug.config missing
    quietly "$BUILD/log/debug-config.log" make -C "$tree" tinyconfig
    (cd "$tree" && quietly "$BUILD/log/debug-merge.log" \
        ./scripts/kconfig/merge_config.sh -m .config "$fragment")
    quietly "$BUILD/log/debug-config.log" make -C "$tree" olddefconfig
    missing=$(missing_options "$fragment" "$tree/.config")
    [[ -z $missing ]] || die "the debug kernel would lack: ${missing//$'\n'/, }"
}

# Half an hour on two CPUs; kept until Debian's source or our fragment changes.
setup_debug_kernel() {
    local dir=$BUILD/kernels/debug new=$BUILD/deps/debug-kernel key release
    install_packages "${DEBUG_PACKAGES[@]}"
    key=$({ apt-cache policy "$DEBUG_SOURCE" | sed -n 's/^ *Candidate: //p' && cat "$TOP/vm/lib/debug.config"; } |
        sha256sum | cut -c 1-16)
    [[ ! -r $dir/key || $(<"$dir/key") != "$key" ]] || return 0
    if [[ ! -r $new/key || $(<"$new/key") != "$key" ]]; then
        note "fetching $DEBUG_SOURCE"
        rm -rf "$new"
        mkdir -p "$new/source"
        (cd "$new" && quietly "$BUILD/log/debug-download.log" \
            apt_get -o APT::Sandbox::User=root download "$DEBUG_SOURCE")
        dpkg-deb --fsys-tarfile "$new"/*.deb | tar -xO --wildcards "*/$DEBUG_SOURCE.tar.xz" |
            tar -xJ --strip-components=1 -C "$new/source"
        rm "$new"/*.deb
        printf '%s\n' "$key" >"$new/key"
    fi
    configure_debug_kernel "$new/source"
    note 'building the debug kernel; this takes a while'
    quietly "$BUILD/log/debug-build.log" nice make -C "$new/source" -j "$(nproc)" \
        LOCALVERSION=-djprobe-debug bzImage modules
    release=$(make -s -C "$new/source" LOCALVERSION=-djprobe-debug kernelrelease)
    quietly "$BUILD/log/debug-install.log" make -C "$new/source" LOCALVERSION=-djprobe-debug \
        INSTALL_MOD_PATH="$new/root" INSTALL_MOD_STRIP=1 modules_install
    rm -f "$new/root/lib/modules/$release"/{build,source}
    ln -sfn source/arch/x86/boot/bzImage "$new/vmlinuz"
    ln -sfn "root/lib/modules/$release" "$new/modules"
    ln -sfn source "$new/headers"
    ln -sfn source/vmlinux "$new/vmlinux"
    printf '%s\n' "$release" >"$new/release"
    rm -rf "$dir"
    mv "$new" "$dir"
}
