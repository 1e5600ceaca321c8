# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The guest's file system: a base archive per kernel, kept between runs, and a
# small one per run. The kernel unpacks archives that follow each other.

# archive DIR: DIR as a cpio archive that belongs to root.
archive() { (cd "$1" && find . -mindepth 1 -print0 | sort -z | cpio -0oH newc -R 0:0 --quiet); }

# Prints what the dynamic linker would load for FILE, the linker included;
# nothing for a static program or for what is no program.
libraries_of() {
    { LC_ALL=C ldd "$1" 2>/dev/null || true; } |
        sed -n 's|^[^/]*\(/[^ ]*\) (0x[0-9a-f]*)$|\1|p'
}

# install_file ROOT DIRECTORY FILE: with the libraries it needs. An executable
# stays one. The build may lie under a directory over which the guest mounts
# something, /tmp for one: its libraries go where the dynamic linker looks last.
install_file() {
    local root=$1 directory=$2 file=$3 library place
    mkdir -p "$root/$directory"
    cp -L "$file" "$root/$directory/"
    while read -r library; do
        case $library in
        /lib*/* | /usr/*) place=$root$library ;;
        *) place=$root/usr/lib/$(basename "$library") ;;
        esac
        [[ ! -e $place ]] || continue
        mkdir -p "$(dirname "$place")"
        cp -L "$library" "$place"
    done < <(libraries_of "$file")
}

# install_tree ROOT DIRECTORY TREE
install_tree() {
    local root=$1 directory=$2 tree=$3 file
    mkdir -p "$root/$directory"
    cp -RL "$tree" "$root/$directory/"
    while IFS= read -r -d '' file; do
        install_file "$root" "$directory/$(basename "$tree")/$(dirname "$(realpath -s --relative-to="$tree" "$file")")" "$file"
    done < <(find -L "$tree" -type f -perm /u+x -print0)
}

# The modules that carry the guest's output, in the order of loading: none
# where the kernel has them built in.
transport_modules() {
    { modprobe --show-depends -d "$KERNEL_ROOT/" -S "$KERNEL_RELEASE" -a virtio_pci virtio_console 2>/dev/null || true; } |
        sed -n 's|^insmod \([^ ]*\).*|\1|p' | awk '!seen[$0]++'
}

unpacked_module() {
    case $1 in
    *.ko) cat "$1" ;;
    *.xz) xz -dc "$1" ;;
    *.zst) zstd -dqc "$1" ;;
    *.gz) gzip -dc "$1" ;;
    esac
}

make_base() {
    local root=$1 applet module number=10
    mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,root,etc,lib,.vm/modules}
    cp "$TOP/vm/guest/init" "$root/init"
    chmod 755 "$root/init"
    cp -L /bin/busybox "$root/bin/busybox"
    for applet in $(/bin/busybox --list); do
        ln -s busybox "$root/bin/$applet" 2>/dev/null || true # busybox itself is there
    done
    printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
    install_file "$root" /usr/sbin /usr/sbin/bpftool
    # The one program that init itself needs: a VM must run without the build.
    g++ -std=c++20 -O2 -Wall -Wextra -Werror -static -s -o "$root/.vm/relay" "$TOP/vm/guest/relay.cc"
    while read -r module; do
        unpacked_module "$module" >"$root/.vm/modules/$number.ko"
        number=$((number + 1))
    done < <(transport_modules)
}

# What the build has for a guest: probeload, the tests' programs, the example handlers.
make_products() {
    local root=$1 file
    mkdir -p "$root/root/bpf"
    while read -r file; do
        case $file in
        *.bpf.o) cp "$file" "$root/root/bpf/" ;;
        *) install_file "$root" /usr/local/bin "$file" ;;
        esac
    done < <(products)
}

products() {
    local file
    for file in "$BUILD"/loader/probeload "$BUILD"/vm/bin/* "$BUILD"/bpf/*.bpf.o; do
        [[ ! -f $file || ! -r $file ]] || echo "$file"
    done
}

# kept_archive NAME KEY MAKE [ARG]...: prints the path of the archive of what MAKE ARG... puts into the
# folder that is its last argument. It is made once for each KEY; of each NAME there is one.
kept_archive() {
    set -e # which bash does not pass on to $(...); half an archive must not be kept
    local name=$1 out work
    out=$BUILD/vm/cache/$name-$(sha256sum <<<"$2" | cut -c 1-16).cpio
    shift 2
    mkdir -p "$BUILD/vm/cache"
    exec 9>"$BUILD/vm/cache/.lock"
    flock 9 # VMs may start side by side
    if [[ ! -r $out ]]; then
        rm -f "$BUILD/vm/cache/$name"-????????????????.cpio
        work=$(mktemp -d "$BUILD/vm/cache/new.XXXXXX")
        "$@" "$work/root"
        archive "$work/root" >"$work/cpio"
        mv "$work/cpio" "$out"
        rm -r "$work"
    fi
    exec 9>&-
    printf '%s\n' "$out"
}

# Prints the path of the base archive of the resolved kernel.
base_archive() {
    kept_archive "base-$KERNEL_KEY" "$(stat -Lc '%n %s %Y' /bin/busybox /usr/sbin/bpftool "$KERNEL_IMAGE" \
        "$TOP"/vm/{guest/init,guest/relay.cc,lib/initramfs.sh} && transport_modules)" make_base
}

# Prints the path of the archive of the build's products, but for the module.
products_archive() {
    local -a files
    mapfile -t files < <(products)
    kept_archive "products-$KERNEL_KEY" \
        "$(stat -Lc '%n %s %y' "${files[@]}" "$TOP/vm/lib/initramfs.sh")" make_products
}
