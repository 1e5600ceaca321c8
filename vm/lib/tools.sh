# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Programs of others that run in tests only, unpacked and not installed: some would start services.

# unpack_packages DIRECTORY PACKAGE...: into the empty DIRECTORY/root.
unpack_packages() {
    local directory=$1 deb
    shift
    need_root "$1 is to be fetched"
    refresh_lists
    note "fetching $*"
    rm -rf "$directory"
    mkdir -p "$directory/root"
    # The download is into our own tree, which apt's sandbox user may not enter.
    (cd "$directory" && quietly "$BUILD/log/$1-download.log" \
        apt_get -o APT::Sandbox::User=root download "$@")
    for deb in "$directory"/*.deb; do
        dpkg-deb -x "$deb" "$directory/root"
        rm "$deb"
    done
}

# BPF objects for vm/tests/objects.test: those that Debian's libbpf-tools carry in themselves lie in
# build/deps/libbpf-tools/objects, the tools beside them.
setup_libbpf_tools() {
    local dir=$BUILD/deps/libbpf-tools new=$BUILD/deps/.new-libbpf-tools file name
    [[ ! -d $dir/objects ]] || return 0
    unpack_packages "$new" libbpf-tools
    mkdir "$new/objects"
    python3 "$TOP/vm/lib/bpf_objects.py" "$new/objects" "$new"/root/usr/sbin/*
    mv "$new/root/usr/sbin" "$new/tools"
    # Debian 13 calls them NAME-libbpf, beside bcc's of the same names.
    for file in "$new"/*/*-libbpf*; do
        name=${file##*/}
        [[ ! -e $file ]] || ln -s "$name" "${file%/*}/${name/-libbpf/}"
    done
    rm -r "$new/root"
    rm -rf "$dir"
    mv "$new" "$dir"
}

# For vm/tests/metrics.test.
setup_prometheus() {
    local dir=$BUILD/deps/prometheus new=$BUILD/deps/.new-prometheus
    [[ ! -x $dir/promtool ]] || return 0
    # A package of its own since Debian 13.
    if apt-cache show promtool >/dev/null 2>&1; then
        unpack_packages "$new" prometheus promtool
    else
        unpack_packages "$new" prometheus
    fi
    rm -rf "$dir"
    mv "$new/root/usr/bin" "$dir"
    rm -r "$new"
}

# For vm/tests/fleet.host.sh, with the libraries that nothing else here needs.
setup_rsyslog() {
    local dir=$BUILD/deps/rsyslog new=$BUILD/deps/.new-rsyslog
    [[ ! -x $dir/rsyslogd ]] || return 0
    unpack_packages "$new" rsyslog rsyslog-relp libestr0 libfastjson4 liblognorm5 librelp0
    mv "$new"/root/usr/lib/*-linux-gnu "$new/lib"
    mv "$new/root/usr/sbin/rsyslogd" "$new/root/etc/rsyslog.conf" "$new"
    rm -r "$new/root"
    rm -rf "$dir"
    mv "$new" "$dir"
}

setup_tools() {
    setup_libbpf_tools
    setup_prometheus
    setup_rsyslog
}
