// SPDX-License-Identifier: GPL-2.0
#include "object/filter.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "kernel/rights.h"

namespace djprobe::loader {
namespace {

constexpr std::int16_t kNameAt = -16;  // on the program's stack

/// Instructions, and jumps to where there are none yet.
class Code {
  public:
    void add(const bpf_insn& instruction) { code_.push_back(instruction); }
    void move(std::uint8_t to, std::uint8_t from) {
        add({BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0});
    }
    void set(std::uint8_t to, std::int32_t value) {
        add({BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value});
    }
    void set_wide(std::uint8_t to, std::uint64_t value, std::uint8_t meaning = 0) {
        // NOLINTNEXTLINE(misc-redundant-expression): two of these are 0
        add({BPF_LD | BPF_DW | BPF_IMM, to, meaning, 0, static_cast<std::int32_t>(value)});
        add({0, 0, 0, 0, static_cast<std::int32_t>(value >> 32)});
    }
    void call(bpf_func_id helper) { add({BPF_JMP | BPF_CALL, 0, 0, 0, helper}); }
    std::size_t jump() {
        add({BPF_JMP | BPF_JA, 0, 0, 0, 0});
        return code_.size() - 1;
    }
    /// Compares 32 bits.
    std::size_t jump_if_equal(std::uint8_t reg, std::uint32_t value) {
        add({BPF_JMP32 | BPF_JEQ | BPF_K, reg, 0, 0, static_cast<std::int32_t>(value)});
        return code_.size() - 1;
    }
    std::size_t jump_unless_same(std::uint8_t reg, std::uint8_t other) {
        add({BPF_JMP | BPF_JNE | BPF_X, reg, other, 0, 0});
        return code_.size() - 1;
    }
    /// These jumps lead to what comes next.
    void land(const std::vector<std::size_t>& jumps) {
        for (const std::size_t at : jumps)
            code_[at].off = static_cast<std::int16_t>(code_.size() - at - 1);
    }
    std::vector<bpf_insn> take() { return std::move(code_); }

  private:
    std::vector<bpf_insn> code_;
};

using Jumps = std::vector<std::size_t>;

// Goes on where the register is one of the values.
void require(Code& code, std::uint8_t reg, const std::vector<std::uint32_t>& values, Jumps& out) {
    if (values.empty()) return;
    Jumps pass;
    for (const std::uint32_t value : values)
        pass.push_back(code.jump_if_equal(reg, value));
    out.push_back(code.jump());
    code.land(pass);
}

void require_task(Code& code, const HitFilter& filter, Jumps& out) {
    if (filter.processes.empty() && filter.tasks.empty() && filter.excluded.empty()) return;
    code.call(BPF_FUNC_get_current_pid_tgid);
    require(code, BPF_REG_0, filter.tasks, out);
    code.add({BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_0, 0, 0, 32});
    for (const std::uint32_t process : filter.excluded)
        out.push_back(code.jump_if_equal(BPF_REG_0, process));
    require(code, BPF_REG_0, filter.processes, out);
}

void require_user(Code& code, const HitFilter& filter, Jumps& out) {
    if (filter.users.empty()) return;
    code.call(BPF_FUNC_get_current_uid_gid);
    require(code, BPF_REG_0, filter.users, out);
}

// Up to the name's NUL: what lies behind it may be anything.
void compare_name(Code& code, const std::string& name, Jumps& differ) {
    for (std::size_t at = 0; at <= name.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t mask = 0, wanted = 0;
        const std::size_t bytes = std::min(name.size() + 1 - at, sizeof mask);
        std::memset(&mask, 0xff, bytes);
        std::memcpy(&wanted, name.c_str() + at, bytes);
        code.add({BPF_LDX | BPF_DW | BPF_MEM, BPF_REG_1, BPF_REG_10,
                  static_cast<std::int16_t>(kNameAt + static_cast<std::int16_t>(at)), 0});
        code.set_wide(BPF_REG_2, mask);
        code.add({BPF_ALU64 | BPF_AND | BPF_X, BPF_REG_1, BPF_REG_2, 0, 0});
        code.set_wide(BPF_REG_2, wanted);
        differ.push_back(code.jump_unless_same(BPF_REG_1, BPF_REG_2));
    }
}

void require_name(Code& code, const HitFilter& filter, Jumps& out) {
    if (filter.names.empty()) return;
    code.move(BPF_REG_1, BPF_REG_10);
    // NOLINTNEXTLINE(misc-redundant-expression): two of these are 0
    code.add({BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, kNameAt});
    code.set(BPF_REG_2, -kNameAt);
    code.call(BPF_FUNC_get_current_comm);
    Jumps pass;
    for (const std::string& name : filter.names) {
        Jumps differ;
        compare_name(code, name, differ);
        pass.push_back(code.jump());
        code.land(differ);
    }
    out.push_back(code.jump());
    code.land(pass);
}

void require_cgroup(Code& code, const HitFilter& filter, Jumps& out) {
    if (filter.cgroups == 0) return;
    Jumps pass;
    for (std::size_t i = 0; i < filter.cgroups; ++i) {
        code.set_wide(BPF_REG_1, static_cast<std::uint32_t>(filter.cgroup_map), BPF_PSEUDO_MAP_FD);
        code.set(BPF_REG_2, static_cast<std::int32_t>(i));
        code.call(BPF_FUNC_current_task_under_cgroup);
        pass.push_back(code.jump_if_equal(BPF_REG_0, 1));
    }
    out.push_back(code.jump());
    code.land(pass);
}

UniqueFd open_cgroup(const std::string& folder) {
    UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) fail(ExitCode::kUsage, "--cgroup {}: {}", folder, std::strerror(errno));
    struct statfs status = {};
    if (fstatfs(fd.get(), &status) != 0 || status.f_type != CGROUP2_SUPER_MAGIC)
        fail(ExitCode::kUsage,
             "--cgroup {}: not a control group of version 2: name a folder under /sys/fs/cgroup",
             folder);
    return fd;
}

}  // namespace

bool HitFilter::lets_all_pass() const {
    return processes.empty() && tasks.empty() && users.empty() && names.empty() && cgroups == 0 &&
           excluded.empty();
}

std::vector<bpf_insn> filter_code(const HitFilter& filter) {
    if (filter.lets_all_pass()) return {};
    Code code;
    Jumps out;
    code.move(BPF_REG_6, BPF_REG_1);
    require_task(code, filter, out);
    require_user(code, filter, out);
    require_name(code, filter, out);
    require_cgroup(code, filter, out);
    const std::size_t pass = code.jump();
    code.land(out);
    code.set(BPF_REG_0, 0);
    code.add({BPF_JMP | BPF_EXIT, 0, 0, 0, 0});
    code.land({pass});
    code.move(BPF_REG_1, BPF_REG_6);
    return code.take();
}

UniqueFd make_cgroup_map(const std::vector<std::string>& folders) {
    std::vector<UniqueFd> groups;
    groups.reserve(folders.size());
    for (const std::string& folder : folders)
        groups.push_back(open_cgroup(folder));
    UniqueFd map(bpf_map_create(BPF_MAP_TYPE_CGROUP_ARRAY, "cgroups", sizeof(__u32), sizeof(__u32),
                                static_cast<__u32>(groups.size()), nullptr));
    if (!map && errno == EPERM)
        fail(ExitCode::kNoPermission, "--cgroup: the kernel does not permit to make a map: {}",
             why_denied(kToProbe));
    if (!map) fail(ExitCode::kFailure, "--cgroup: making a map: {}", std::strerror(errno));
    for (__u32 i = 0; i < groups.size(); ++i) {
        const int fd = groups[i].get();
        if (bpf_map_update_elem(map.get(), &i, &fd, BPF_ANY) != 0)
            fail(ExitCode::kUsage, "--cgroup {}: {}", folders[i], std::strerror(errno));
    }
    return map;
}

}  // namespace djprobe::loader
