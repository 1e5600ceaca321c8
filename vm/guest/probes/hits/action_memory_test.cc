// SPDX-License-Identifier: GPL-2.0
// Actions on memory: only where the probed instruction itself would fault, and with its value.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <cstring>
#include <optional>

#include "../harness/function_text.h"
#include "../harness/observer.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

using List = std::vector<djprobe_action>;

/// `mov displacement(%base), %to` of 8 bytes.
struct LoadInsn {
    uint64_t offset, end;  ///< from its function's start
    uint8_t base, to;
    int32_t displacement;
};

std::optional<LoadInsn> load_at(const x86::Insn& insn, uint64_t start,
                                const loader::Kcore& memory) {
    const std::vector<uint8_t> code = memory.read(insn.address, insn.length);
    if (code.size() < 4 || (code[0] & 0xf8) != 0x48 || code[1] != 0x8b) return std::nullopt;
    const unsigned mod = code[2] >> 6, rm = code[2] & 7;
    if ((mod != 1 && mod != 2) || rm == 4) return std::nullopt;
    LoadInsn load = {insn.address - start, insn.end() - start,
                     static_cast<uint8_t>(rm | (code[0] & 1) << 3),
                     static_cast<uint8_t>((code[2] >> 3 & 7) | (code[0] & 4) << 1),
                     static_cast<int8_t>(code[3])};
    if (mod == 2) std::memcpy(&load.displacement, &code[3], sizeof load.displacement);
    return load;
}

djprobe_action add(uint8_t base, int32_t displacement, uint8_t width = 8) {
    const auto value = static_cast<uint64_t>(int64_t{displacement});
    return {DJPROBE_ACTION_ADD, base, width, DJPROBE_ACTION_MEMORY, 8, value};
}

class ActionMemory : public ObserverTest {
  protected:
    ActionMemory() {
        map_ = Fd(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "counters", sizeof(uint32_t), 16, 1,
                                 nullptr));
    }
    void TearDown() override {}

    ManyAnswer attach(const djprobe_action& action, const std::string& symbol, uint64_t offset,
                      djprobe_mode mode) {
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(symbol.c_str());
        sites[0].offset = offset;
        const djprobe_action ours = {
            DJPROBE_ACTION_IF_EQ,           DJPROBE_TASK_TGID, 4, DJPROBE_ACTION_TASK, 0,
            static_cast<uint64_t>(getpid())};
        const List list = {ours, {DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 0}, action};
        return device_.attach_many(sites, map_.get(), mode, DJPROBE_ATTACH_COUNT, list);
    }
    /// What one pread adds; `shared`: a program is there, too.
    uint64_t added(const djprobe_action& action, const std::string& symbol, uint64_t offset,
                   djprobe_mode mode, bool shared) {
        const uint32_t key = 0;
        std::vector<uint64_t> all(static_cast<size_t>(libbpf_num_possible_cpus()) * 2);
        EXPECT_EQ(bpf_map_update_elem(map_.get(), &key, all.data(), 0), 0);
        const ManyAnswer answer = attach(action, symbol, offset, mode);
        EXPECT_EQ(answer.error, 0)
            << symbol << '+' << offset << ": " << describe(djprobe_reason(answer.request.reason));
        Probe program;
        if (shared) program = device_.must_attach(at(symbol, offset, mode));
        answer.probes.settle();
        EXPECT_EQ(reader_.read(1), 0u);
        EXPECT_EQ(bpf_map_lookup_elem(map_.get(), &key, all.data()), 0);
        uint64_t hits = 0, sum = 0;
        for (size_t i = 0; i < all.size(); i += 2) {
            hits += all[i];
            sum += all[i + 1];
        }
        EXPECT_EQ(hits, 1u);
        return sum;
    }
    /// What a register holds there in one pread; none: it is not the same in each.
    std::optional<uint64_t> value_at(const std::string& symbol, uint64_t offset, uint8_t reg) {
        const auto look = [&] {
            const Probe probe = device_.must_attach(observed(symbol, offset, DJPROBE_MODE_INT3, 1));
            forget(1);
            EXPECT_EQ(reader_.read(1), 0u);
            return seen(1);
        };
        const observation one = look(), two = look();
        const auto value = one.regs[kFieldsByNumber[reg]];
        if (one.hits != 1 || two.hits != 1 || value != two.regs[kFieldsByNumber[reg]])
            return std::nullopt;
        return value;
    }
    bool is_site(const std::string& symbol, uint64_t offset) {
        return device_.explain(at(symbol, offset)).answer.verdict != DJPROBE_VERDICT_REFUSED;
    }

    Fd map_;
};

TEST_F(ActionMemory, IsWhatTheInstructionLoads) {
    const std::vector<FunctionText> functions =
        read_functions({"vfs_read", "seq_read_iter", "proc_reg_read_iter"});
    const loader::Kcore memory;
    int compared = 0;
    for (const FunctionText& function : functions)
        for (const x86::Insn& insn : function.insns) {
            const auto load = load_at(insn, function.start, memory);
            if (!load || compared == 12 || !is_site(function.name, load->offset) ||
                !is_site(function.name, load->end))
                continue;
            const auto value = value_at(function.name, load->end, load->to);
            if (!value) continue;
            const djprobe_action action = add(load->base, load->displacement);
            const djprobe_action half = add(load->base, load->displacement + 4, 4);
            for (const djprobe_mode mode : kBothModes) {
                EXPECT_EQ(added(action, function.name, load->offset, mode, false), *value);
                EXPECT_EQ(added(action, function.name, load->offset, mode, true), *value);
                EXPECT_EQ(added(half, function.name, load->offset, mode, false), *value >> 32);
            }
            ++compared;
        }
    EXPECT_GE(compared, 4);
}

TEST_F(ActionMemory, AtAnEntryTheReturnAddressIsOnTheStack) {
    constexpr const char* kSite = "vfs_read";
    const Probe probe = device_.must_attach(observed(kSite, 0, DJPROBE_MODE_INT3, 1));
    EXPECT_EQ(reader_.read(1), 0u);
    const uint64_t caller = seen(1).stack[1];
    for (const djprobe_mode mode : kBothModes)
        EXPECT_EQ(added(add(DJPROBE_REG_SP, 0), kSite, 0, mode, false), caller);
}

TEST_F(ActionMemory, WhatTheInstructionDoesNotTouchIsRefused) {
    const djprobe_action beyond[] = {add(7, 0), add(DJPROBE_REG_SP, 8), add(DJPROBE_REG_SP, -8),
                                     add(DJPROBE_REG_SP, 4)};
    for (const djprobe_action& action : beyond) {
        const ManyAnswer answer = attach(action, "vfs_read", 0, DJPROBE_MODE_AUTO);
        EXPECT_EQ(answer.error, -EACCES);
        EXPECT_EQ(describe(djprobe_reason(answer.request.reason)),
                  describe(DJPROBE_REASON_OPERAND_MAY_FAULT));
        EXPECT_EQ(answer.request.detail[0], 2u);
        EXPECT_EQ(answer.request.detail[1], unsigned{DJPROBE_ACTION_ADD});
    }
    EXPECT_EQ(attach(add(DJPROBE_REG_SP, 4, 4), "vfs_read", 0, DJPROBE_MODE_AUTO).error, 0);
}

TEST_F(ActionMemory, IsRefusedWhileAllProbesAreOffToo) {
    const auto set = [&](uint32_t on) {
        djprobe_switch request = {};
        request.size = sizeof request;
        request.change = DJPROBE_SWITCH_PROBES;
        request.on = on;
        EXPECT_EQ(call_ioctl(device_.fd(), DJPROBE_IOC_SWITCH, &request), 0);
    };
    set(0);
    const ManyAnswer answer = attach(add(7, 0), "vfs_read", 0, DJPROBE_MODE_AUTO);
    set(DJPROBE_SWITCH_PROBES);
    EXPECT_EQ(answer.error, -EACCES);
}

}  // namespace
}  // namespace djprobe::vm
