# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Programs of others that run in the VM only, unpacked and not installed: some would start services.

# unpack_package PACKAGE DIRECTORY: into the empty DIRECTORY/root.
unpack_package() {
    need_root "$1 is to be fetched"
    refresh_lists
    note "fetching $1"
    rm -rf "$2"
    mkdir -p "$2/root"
    # The download is into our own tree, which apt's sandbox user may not enter.
    (cd "$2" && quietly "$BUILD/log/$1-download.log" \
        apt_get -o APT::Sandbox::User=root download "$1")
    dpkg-deb -x "$2"/*.deb "$2/root"
    rm "$2"/*.deb
}

# BPF objects for vm/tests/objects.test: those that Debian's libbpf-tools carry in themselves lie in
# build/deps/libbpf-tools/objects, the tools beside them.
setup_libbpf_tools() {
    local dir=$BUILD/deps/libbpf-tools new=$BUILD/deps/.new-libbpf-tools
    [[ ! -d $dir/objects ]] || return 0
    unpack_package libbpf-tools "$new"
    mkdir "$new/objects"
    python3 "$TOP/vm/lib/bpf_objects.py" "$new/objects" "$new"/root/usr/sbin/*
    mv "$new/root/usr/sbin" "$new/tools"
    rm -r "$new/root"
    rm -rf "$dir"
    mv "$new" "$dir"
}

# For vm/tests/metrics.test.
setup_prometheus() {
    local dir=$BUILD/deps/prometheus new=$BUILD/deps/.new-prometheus
    [[ ! -x $dir/prometheus ]] || return 0
    unpack_package prometheus "$new"
    rm -rf "$dir"
    mv "$new/root/usr/bin" "$dir"
    rm -r "$new"
}

setup_tools() {
    setup_libbpf_tools
    setup_prometheus
}
