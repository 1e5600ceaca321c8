# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The source of the decoder for the module: libzydis.so's code cannot be linked
# into a kernel (red zone), so Zydis is compiled again, with the kernel's flags.

# Writes deb-src twins of the configured sources into a directory of ours; the
# user's own apt configuration stays as it is.
source_twins() {
    local out=$1 file
    mkdir -p "$out"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [[ ! -r $file ]] || sed -n 's/^[[:space:]]*deb\([[:space:]]\)/deb-src\1/p' \
            "$file" >"$out/${file##*/}.list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [[ ! -r $file ]] || sed 's/^Types:.*/Types: deb-src/I' "$file" >"$out/${file##*/}"
    done
}

setup_zydis() {
    local dir=$BUILD/deps/zydis new=$BUILD/deps/.new-zydis apt=$BUILD/deps/.new-zydis/apt version
    local -a options
    version=$(dpkg-query -W -f '${source:Version}' libzydis-dev)
    [[ ! -r $dir/version || $(<"$dir/version") != "$version" ]] || return 0
    need_root "the source of Zydis is to be fetched"
    note "fetching the source of Zydis $version"
    rm -rf "$new"
    mkdir -p "$new" "$apt/lists/partial" "$apt/cache"
    source_twins "$apt/sources.list.d"
    options=(-o APT::Sandbox::User=root -o Dir::Etc::sourcelist=/dev/null
        -o "Dir::Etc::sourceparts=$apt/sources.list.d"
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
    # A source list that offers no source packages fails the update, not us.
    apt_get "${options[@]}" update >"$BUILD/log/zydis-update.log" 2>&1 || true
    # A mirror may lack the packaging, which is not needed.
    (cd "$new" && quietly "$BUILD/log/zydis-source.log" \
        apt_get "${options[@]}" source --tar-only "zydis=$version")
    # Where upstream's own tree has Zycore: a kernel build must not see /usr/include.
    mkdir -p "$new/tree/dependencies/zycore/include"
    tar -xf "$new"/zydis_*.orig.tar.* -C "$new/tree" --strip-components 1
    ln -sfn /usr/include/Zycore "$new/tree/dependencies/zycore/include/Zycore"
    printf '%s\n' "$version" >"$new/tree/version"
    rm -rf "$dir"
    mv "$new/tree" "$dir"
    rm -r "$new"
}
