# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Boots the resolved kernel and waits for what the guest has to say.

# Lines that a healthy kernel never prints. Anchored in the forms that the
# kernel uses: boot messages like "RETBleed: WARNING: ..." are none of ours.
SPLAT='\bBUG: |kernel BUG at |^(\[[^]]*\] )?(WARNING|UBSAN): |\bOops: |\bCall Trace:|KASAN: |Kernel panic - '
SPLAT+='|general protection fault|scheduling while atomic|lockdep|rcu.*(stall|self-detected)|double fault'
SPLAT+='|INFO: task .* blocked for more than|list_(add|del) corruption|kmemleak: .*new suspected'

# What a healthy kernel says although it sounds like one; the command line is
# echoed at boot and may hold any word.
NO_SPLAT='ommand line|RCU lockdep checking is enabled'

# splat_of CONSOLE [LINES]: prints it from its first splat on, and so many lines before; fails if there is none.
splat_of() {
    grep -avE "$NO_SPLAT" "$1" | tr -d '\r' | grep -aE -m 1 -B "${2:-0}" -A 60 "$SPLAT"
}

# qemu_command DIR ACCEL IMAGE INITRD APPEND CPUS MEM CPU: fills QEMU. PORTS says what carries the
# guest's output: virtio (the default) or serial.
qemu_command() {
    local dir=$1 accel=$2 image=$3 initrd=$4 append=$5 cpus=$6 mem=$7 cpu=$8 port
    # QEMU 7.2 lets cmpxchg16b leave flags that it takes from a stale state, any of 32 bits.
    # The kernel allocates with it; where that sets bit 17 (VM), the next interrupt is a double fault.
    # Without the feature the kernel goes another way.
    [[ $accel != tcg* ]] || cpu+=,-cx16
    # A socket per CPU: the BIOS' table for kernels without ACPI lists one CPU of each.
    QEMU=(qemu-system-x86_64 -no-user-config -nodefaults -display none -no-reboot
        -machine pc -accel "$accel" -cpu "$cpu" -smp "$cpus,sockets=$cpus" -m "$mem"
        -kernel "$image" -initrd "$initrd" -serial "file:$dir/console")
    for port in out err status; do
        QEMU+=(-chardev "file,id=$port,path=$dir/$port")
    done
    # The guest tells serial lines by their order.
    if [[ ${PORTS:-virtio} == serial ]]; then
        append+=' PORTS=serial'
        QEMU+=(-device 'pci-serial-4x,chardev1=out,chardev2=err,chardev3=status')
    else
        QEMU+=(-device virtio-serial-pci)
        for port in out err status; do
            QEMU+=(-device "virtserialport,chardev=$port,name=djprobe.$port")
        done
    fi
    # An oops ends the run at once instead of leaving a guest that may hang.
    QEMU+=(-append "console=ttyS0 panic=-1 oops=panic no_timer_check random.trust_cpu=on $append")
}

# start_qemu DIR: DIR/out and DIR/err are regular files, which QEMU can always
# write to: when the guest's last word has come, all output before it is there.
start_qemu() {
    local dir=$1
    : >"$dir/out"
    : >"$dir/err"
    : >"$dir/console"
    mkfifo "$dir/status"
    # QEMU inherits a writing end, so its death is the end of the file.
    "${QEMU[@]}" 8>"$dir/status" </dev/null >"$dir/qemu" 2>&1 &
    QEMU_PID=$!
    exec 7<"$dir/status"
}

# await_guest TIMEOUT sets GUEST to the guest's last word, "dead" or "late".
await_guest() {
    local status=0
    read -r -t "$1" -u 7 GUEST || status=$?
    exec 7<&-
    if ((status > 128)); then
        GUEST=late
    elif ((status)); then
        GUEST=dead
    fi
    stop_qemu
}

# SIGTERM lets QEMU finish what it is at: output that the guest wrote before
# its last word may still be in a queue.
stop_qemu() {
    local attempt
    [[ -n ${QEMU_PID:-} ]] || return 0
    kill -TERM "$QEMU_PID" 2>/dev/null || true
    for attempt in {1..400}; do
        kill -0 "$QEMU_PID" 2>/dev/null || break
        ((attempt < 400)) || kill -KILL "$QEMU_PID" 2>/dev/null || true
        sleep 0.05
    done
    wait "$QEMU_PID" 2>/dev/null || true
    QEMU_PID=
}

# With a thread for each vCPU QEMU may translate an instruction while another vCPU overwrites it, and
# then keeps the stale translation: an int3 that has long been removed still traps. Seen with 7.2,
# 10.0.13 and 11.1.3, with mainline's kprobes as with ours. One thread for all vCPUs takes turns
# between instructions and is safe.
TCG=tcg,thread=single

# accelerator IMAGE INITRD: a /dev/kvm that exists may still be unable to run
# a kernel (nested, emulated), so a real boot decides, once.
accelerator() {
    local image=$1 initrd=$2 key answer work
    key=$({ stat -Lc '%n %s %Y' "$(type -P qemu-system-x86_64)" "$image" && uname -r; } | sha256sum | cut -c 1-16)
    answer=$BUILD/vm/cache/kvm-$key
    if [[ -w /dev/kvm && ! -r $answer ]]; then
        work=$(mktemp -d)
        mkdir -p "$work/root/.vm"
        echo true >"$work/root/.vm/command"
        { cat "$initrd" && archive "$work/root"; } >"$work/initrd"
        qemu_command "$work" kvm "$image" "$work/initrd" '' 1 512 host
        start_qemu "$work"
        await_guest 10
        if [[ $GUEST == 'exit 0' ]]; then echo yes; else echo no; fi >"$answer"
        rm -r "$work"
    fi
    if [[ -w /dev/kvm && $(<"$answer") == yes ]]; then echo kvm; else echo "$TCG"; fi
}
