# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# BPF objects that others have written, for vm/tests/objects.test: those that Debian's libbpf-tools
# carry in themselves lie in build/deps/libbpf-tools/objects, the tools beside them.

setup_tools() {
    local dir=$BUILD/deps/libbpf-tools new=$BUILD/deps/.new-libbpf-tools
    [[ ! -d $dir/objects ]] || return 0
    need_root 'the objects of libbpf-tools are to be fetched'
    refresh_lists
    note 'fetching libbpf-tools'
    rm -rf "$new" "$dir"
    mkdir -p "$new/root" "$new/objects"
    # The download is into our own tree, which apt's sandbox user may not enter.
    (cd "$new" && quietly "$BUILD/log/tools-download.log" \
        apt_get -o APT::Sandbox::User=root download libbpf-tools)
    dpkg-deb -x "$new"/*.deb "$new/root"
    python3 "$TOP/vm/lib/bpf_objects.py" "$new/objects" "$new"/root/usr/sbin/*
    mv "$new/root/usr/sbin" "$new/tools"
    rm -r "$new/root" "$new"/*.deb
    mv "$new" "$dir"
}
