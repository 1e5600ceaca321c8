// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "doctor/examine.h"
#include "doctor/module_file.h"
#include "doctor/signature.h"
#include "temp_file.h"

namespace djprobe::loader::doctor {
namespace {

constexpr const char* kRelease = "6.1.0-56-amd64";
constexpr const char* kConfiguration =
    "CONFIG_MODULES=y\nCONFIG_KALLSYMS=y\nCONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE_WITH_REGS=y\n"
    "CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_BPF_EVENTS=y\n# CONFIG_CFI_CLANG is not set\n";

/// A machine of files, all of whose rights this process has.
class Doctor : public testing::Test {
  protected:
    void write(const std::string& path, std::string_view content) const {
        const std::filesystem::path file = files_.path() / path.substr(1);
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << content;
    }
    void install(std::string_view information) const {
        const std::string folder = std::string("/lib/modules/") + kRelease;
        write(folder + "/modules.dep", "kernel/fs/ext4.ko:\nupdates/djprobe.ko: kernel/a.ko\n");
        write(folder + "/updates/djprobe.ko", std::string("\x7f"
                                                          "ELF") +
                                                  std::string(information));
    }
    [[nodiscard]] Machine machine(const std::string& release = kRelease) const {
        return {files_.path(), release, {~std::uint64_t{0}, 0, true}};
    }
    static Finding find(const Findings& findings, const std::string& check) {
        for (const Finding& finding : findings)
            if (finding.check == check) return finding;
        throw std::logic_error("no finding about " + check);
    }

    Files files_;
};

TEST_F(Doctor, kernel_that_no_test_has_seen_is_noted) {
    EXPECT_EQ(find(examine_kernel(machine()), "kernel").health, Health::Ok);
    EXPECT_EQ(find(examine_kernel(machine("7.9.1-amd64")), "kernel").health, Health::Note);
}

TEST_F(Doctor, configuration_names_what_is_missing_and_what_is_unwanted) {
    const auto said = [&](const std::string& configuration) {
        write(std::string("/boot/config-") + kRelease, configuration);
        return find(examine_kernel(machine()), "configuration");
    };
    EXPECT_EQ(find(examine_kernel(machine()), "configuration").health, Health::Note);
    EXPECT_EQ(said(kConfiguration).health, Health::Ok);
    std::string without = kConfiguration;
    without.replace(without.find("CONFIG_KPROBES=y"), 16, "");
    EXPECT_EQ(said(without).health, Health::Bad);
    EXPECT_NE(said(without).text.find("without CONFIG_KPROBES:"), std::string::npos);
    const Finding cfi = said(kConfiguration + std::string("CONFIG_CFI_CLANG=y\n"));
    EXPECT_EQ(cfi.health, Health::Bad);
    EXPECT_NE(cfi.text.find("with CONFIG_CFI_CLANG:"), std::string::npos);
}

TEST_F(Doctor, kernel_without_kprobes_is_told_where_its_configuration_is_not_to_be_read) {
    EXPECT_EQ(find(examine_kernel(machine()), "kprobes").health, Health::Note);
    write("/sys/bus/event_source/devices/software/type", "1\n");
    EXPECT_EQ(find(examine_kernel(machine()), "kprobes").health, Health::Bad);
    write("/sys/bus/event_source/devices/kprobe/type", "8\n");
    EXPECT_EQ(find(examine_kernel(machine()), "kprobes").health, Health::Ok);
}

TEST_F(Doctor, switches_of_the_kernel_come_with_their_command) {
    write("/proc/sys/kernel/ftrace_enabled", "0\n");
    write("/proc/sys/net/core/bpf_jit_enable", "0\n");
    write("/proc/sys/kernel/kptr_restrict", "2\n");
    const Finding ftrace = find(examine_kernel(machine()), "ftrace");
    EXPECT_EQ(ftrace.health, Health::Bad);
    EXPECT_EQ(ftrace.command, "sysctl kernel.ftrace_enabled=1");
    EXPECT_EQ(find(examine_kernel(machine()), "JIT").health, Health::Note);
    EXPECT_EQ(find(examine_permissions(machine()), "addresses").command,
              "sysctl kernel.kptr_restrict=1");
    write("/proc/sys/kernel/ftrace_enabled", "1\n");
    EXPECT_EQ(find(examine_kernel(machine()), "ftrace").health, Health::Ok);
}

TEST_F(Doctor, module_that_is_not_there_is_told_apart_from_one_that_is_not_loaded) {
    EXPECT_EQ(find(examine_module(machine()), "module file").health, Health::Bad);
    EXPECT_EQ(find(examine_module(machine()), "module").command, "modprobe djprobe");
    install(std::string("\0vermagic=6.1.0-56-amd64 SMP\0", 28));
    EXPECT_EQ(find(examine_module(machine()), "module file").health, Health::Ok);
    EXPECT_EQ(find(examine_module(machine()), "module").health, Health::Bad);
}

TEST_F(Doctor, missing_sys_and_proc_are_told_and_nothing_else_is_blamed) {
    write("/dev/djprobe", "");
    EXPECT_EQ(find(examine_kernel(machine()), "/sys").health, Health::Bad);
    EXPECT_EQ(find(examine_kernel(machine()), "/sys").command, "mount -t sysfs none /sys");
    EXPECT_EQ(find(examine_kernel(machine()), "/proc").command, "mount -t proc proc /proc");
    EXPECT_EQ(find(examine_kernel(machine()), "BTF").text, "cannot be seen without /sys");
    EXPECT_NE(find(examine_module(machine()), "module").text, "not loaded");
    write("/sys/kernel/btf/vmlinux", "");
    write("/proc/sys/kernel/kptr_restrict", "0\n");
    EXPECT_EQ(examine_kernel(machine()).front().check, "kernel");
}

TEST_F(Doctor, module_for_another_kernel_is_told) {
    install(std::string("\0vermagic=6.1.0-55-amd64 SMP\0", 28));
    const Finding file = find(examine_module(machine()), "module file");
    EXPECT_EQ(file.health, Health::Bad);
    EXPECT_NE(file.text.find("made for the kernel 6.1.0-55-amd64:"), std::string::npos)
        << file.text;
}

TEST_F(Doctor, unsigned_module_is_bad_only_where_the_kernel_asks_for_a_signature) {
    install("");
    EXPECT_EQ(find(examine_module(machine()), "signature").health, Health::Ok);
    write("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    const Finding missing = find(examine_module(machine()), "signature");
    EXPECT_EQ(missing.health, Health::Bad);
    EXPECT_NE(missing.command.find("sign-file sha256"), std::string::npos);
    install("~Module signature appended~\n");
    EXPECT_EQ(find(examine_module(machine()), "signature").health, Health::Ok);
}

/// As scripts/sign-file leaves a module: a message of `length` bytes with the signer's name in it.
std::string signed_by(const std::string& name) {
    const std::string message = std::string("0\x82\x01\x06\x03\x55\x04\x03\x0c") +
                                static_cast<char>(name.size()) + name + "the rest";
    return "code" + message + std::string("\0\0\x02\0\0\0\0\0\0\0\0", 11) +
           static_cast<char>(message.size()) + "~Module signature appended~\n";
}

TEST_F(Doctor, signature_by_a_key_that_the_kernel_lacks_is_bad_where_it_asks_for_one) {
    install(signed_by("DKMS module signing key"));
    const auto said = [&] { return find(examine_module(machine()), "signature"); };
    EXPECT_EQ(said().health, Health::Ok) << said().text;
    write("/proc/keys",
          "3a2b1c0d I------ 1 perm 1f030000 0 0 asymmetri Debian CA: 6ccece7e: X509.rsa 1ea1 []\n");
    EXPECT_EQ(said().health, Health::Ok) << said().text;
    write("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    write("/var/lib/dkms/mok.pub", "");
    EXPECT_EQ(said().health, Health::Bad);
    EXPECT_THAT(said().text, testing::StartsWith("by 'DKMS module signing key', whose key this "
                                                 "kernel does not have"));
    EXPECT_EQ(said().command, "mokutil --import /var/lib/dkms/mok.pub");
    write("/proc/keys",
          "3a2b1c0d I------ 1 perm 1f030000 0 0 asymmetri DKMS module signing key: 0a1b: X509.rsa "
          "1ea1 []\n");
    EXPECT_EQ(said().health, Health::Ok) << said().text;
}

TEST(Signature, ADamagedOneNamesNobody) {
    const std::string whole = signed_by("a name");
    for (std::size_t cut = 0; cut < whole.size(); cut++)
        EXPECT_THAT(signer(whole.substr(cut)), testing::AnyOf("", "a name"));
    EXPECT_EQ(signer(whole), "a name");
    EXPECT_EQ(signer("~Module signature appended~\n"), "");
}

TEST_F(Doctor, lockdown_that_forbids_probes_is_bad) {
    write("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    EXPECT_EQ(find(examine_permissions(machine()), "lockdown").health, Health::Bad);
    write("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    EXPECT_EQ(find(examine_permissions(machine()), "lockdown").health, Health::Ok);
}

TEST_F(Doctor, user_without_rights_is_told_how_to_get_them) {
    const Machine of_user{files_.path(), kRelease, {0, 1000, true}};
    const Finding rights = find(examine_permissions(of_user), "rights");
    EXPECT_EQ(rights.health, Health::Bad);
    EXPECT_EQ(rights.command, "sudo probeload ...");
    EXPECT_EQ(find(examine_permissions(machine()), "rights").health, Health::Ok);
}

TEST_F(Doctor, dkms_that_has_not_built_for_this_kernel_is_told) {
    EXPECT_EQ(find(examine_packages(machine()), "DKMS").health, Health::Ok);
    write("/var/lib/dkms/djprobe/0.1.0/6.1.0-55-amd64/x86_64/module/djprobe.ko", "");
    write("/var/lib/dkms/djprobe/0.1.0/6.1.0-56-amd64/x86_64/log/make.log", "error");
    const Finding missing = find(examine_packages(machine()), "DKMS");
    EXPECT_EQ(missing.health, Health::Note);
    EXPECT_EQ(missing.command, "dkms autoinstall -k 6.1.0-56-amd64");
    write("/var/lib/dkms/djprobe/0.1.0/6.1.0-56-amd64/x86_64/module/djprobe.ko", "");
    EXPECT_EQ(find(examine_packages(machine()), "DKMS").text, "has built 0.1.0 for this kernel");
}

TEST_F(Doctor, packages_are_named_by_the_kernel) {
    EXPECT_EQ(find(examine_packages(machine()), "headers").command,
              "apt install linux-headers-6.1.0-56-amd64");
    write("/lib/modules/6.1.0-56-amd64/build/Makefile", "");
    EXPECT_EQ(find(examine_packages(machine()), "headers").health, Health::Ok);
    EXPECT_EQ(find(examine_packages(machine()), "debug symbols").health, Health::Note);
}

}  // namespace
}  // namespace djprobe::loader::doctor
