// SPDX-License-Identifier: GPL-2.0
// Loads a kernel to be run after this one: `kexec load|panic KERNEL INITRD APPEND`; for `load`,
// `kexec run` then leaves this one without shutting it down.
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "run" && argc == 2) {
        syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, 0);
        std::perror("kexec: reboot");
        return 1;
    }
    if ((what != "load" && what != "panic") || argc != 5) {
        std::fputs("usage: kexec load|panic KERNEL INITRD APPEND, or kexec run\n", stderr);
        return 2;
    }
    const int kernel = open(argv[2], O_RDONLY | O_CLOEXEC);
    const int initrd = open(argv[3], O_RDONLY | O_CLOEXEC);
    const std::string append = argv[4];
    if (kernel < 0 || initrd < 0 ||
        syscall(SYS_kexec_file_load, kernel, initrd, append.size() + 1, append.c_str(),
                what == "panic" ? KEXEC_FILE_ON_CRASH : 0)) {
        std::perror("kexec");
        return 1;
    }
    return 0;
}
