# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# VMs that have booted: to go on from there takes a fraction of what a boot takes. Of each kernel there
# is one, until what it has booted from changes. All that go on from it have its layout of memory.
# ARCHIVES is what they have in their file system from the beginning.

# Adds the port by which a VM gets what the run adds. One that boots has nobody at its other end.
own_port() {
    local dir=$1
    mkfifo "$dir/own.in" "$dir/own.out"
    QEMU+=(-chardev "pipe,id=own,path=$dir/own" -device 'virtserialport,chardev=own,name=djprobe.own')
}

# Makes a file the VM's memory. share=on: what the VM writes is written; off: that is the VM's own.
memory_of() {
    local file=$1 mem=$2 share=$3
    QEMU+=(-object "memory-backend-file,id=memory,size=${mem}M,mem-path=$file,share=$share"
        -machine memory-backend=memory)
}

# Adds QEMU's monitor, which takes commands from DIR/monitor.in.
monitor_port() {
    local dir=$1
    mkfifo "$dir/monitor.in" "$dir/monitor.out"
    QEMU+=(-chardev "pipe,id=monitor,path=$dir/monitor" -mon 'chardev=monitor,mode=readline')
}

# Memory that is a file need not be among what QEMU keeps of a VM.
WITHOUT_MEMORY='migrate_set_capability x-ignore-shared on'

# boot_and_keep STATE ACCEL APPEND CPUS MEM CPU: boots such a VM of the resolved kernel, with ARCHIVES,
# and keeps it in the folder STATE when the guest waits for the rest.
boot_and_keep() {
    local state=$1 work GUEST QEMU_PID told
    work=$(mktemp -d "${TMPDIR:-/tmp}/djprobe-vm.XXXXXX")
    mkdir -p "$work/root/.vm" "$state.new"
    touch "$work/root/.vm/kept"
    { cat "${ARCHIVES[@]}" && archive "$work/root"; } >"$work/initrd"
    qemu_command "$work" "$2" "$KERNEL_IMAGE" "$work/initrd" "${@:3}"
    own_port "$work"
    memory_of "$state.new/memory" "$5" on
    monitor_port "$work"
    start_qemu "$work"
    read -r -t 120 -u 7 GUEST || true
    if [[ ${GUEST-} == booted ]]; then
        cat "$work/monitor.out" >"$work/told" &
        told=$!
        printf '%s\nmigrate "exec:cat >%s"\ninfo migrate\nquit\n' "$WITHOUT_MEMORY" "$state.new/devices" >"$work/monitor.in"
        wait "$QEMU_PID" || true
        wait "$told" || true
    fi
    exec 7<&-
    stop_qemu
    if ! splat_of "$work/console" >/dev/null && grep -aqs 'Migration status: completed' "$work/told"; then
        mv "$state.new" "$state"
    fi
    rm -rf "$work" "$state.new"
    [[ -d $state ]]
}

# open_booted ACCEL APPEND CPUS MEM CPU: opens the state of such a VM of the resolved kernel, which has
# booted with ARCHIVES: as descriptor 5 its memory, as 6 its devices. Fails where it cannot be made: the
# run boots for itself, and tells why that fails.
open_booted() {
    local key state
    key=$({ stat -Lc '%n %s %Y' "$(type -P qemu-system-x86_64)" "$KERNEL_IMAGE" "${ARCHIVES[@]}" \
        "$TOP"/vm/lib/{booted,qemu}.sh && printf '%s\n' "$@"; } | sha256sum | cut -c 1-16)
    state=$BUILD/vm/cache/booted-$KERNEL_KEY-$key
    exec 9>"$BUILD/vm/cache/.booting-$KERNEL_KEY"
    flock 9 # VMs may start side by side
    if [[ ! -d $state ]]; then
        rm -rf "$BUILD/vm/cache/booted-$KERNEL_KEY"-????????????????{,.new}
        (boot_and_keep "$state" "$@") >&2 9>&- || true
    fi
    if [[ -d $state ]]; then exec 5<>"$state/memory" 6<"$state/devices"; fi
    exec 9>&-
    [[ -d $state ]]
}

# go_on_from_booted DIR MEM: makes of QEMU a VM that goes on from what is open, and gets the archive
# DIR/own. `writers` are the processes that hand over what it reads.
go_on_from_booted() {
    local dir=$1 mem=$2
    own_port "$dir"
    monitor_port "$dir"
    memory_of /dev/fd/5 "$mem" off
    QEMU+=(-incoming defer)
    cat "$dir/own" >"$dir/own.in" 5>&- 6>&- &
    writers+=($!)
    printf '%s\nmigrate_incoming fd:6\n' "$WITHOUT_MEMORY" >"$dir/monitor.in" 5>&- 6>&- &
    writers+=($!)
}
