// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes as a function, as a JIT's program and as BPF instructions. Nothing may
// crash, and what is said of them must keep the promises of the headers.
#include <cstring>

#include "arch/x86/analysis/context_use.h"
#include "arch/x86/detour/detour.h"
#include "arch/x86/insn/program.h"
#include "tests/arch/support/fuzz.h"
#include "tests/fuzz/require.h"

namespace {

using namespace djprobe;
using namespace djprobe::x86;
using test::require;

/// What the input's first bytes decide; the rest is code.
struct Input {
    u8 site;
    u8 cold;       ///< so many bytes of the code are the cold part
    u8 rewritten;  ///< an instruction, and what it is
    u8 kind;
    u8 target;
    u8 flags;
    u8 context[4];
    u8 clobbers[2];
};

enum : u8 { kWhole = 1, kSmap = 4, kFarHits = 16, kPreempt = 32 };

bool is_everything(const Live& live) {
    return live.registers == kCallerSaved && live.flags && live.system_flags;
}

Live check_live(const Flow& flow, u64 site) {
    const Live live = find_live(flow, site);
    require(!(live.registers & ~kCallerSaved), "only caller-saved registers");
    Flow careful = flow;
    careful.standard_abi = false;
    require(is_everything(find_live(careful, site)), "no convention, everything live");
    careful = flow;
    careful.has_fixups = true;
    require(is_everything(find_live(careful, site)), "fixups, everything live");
    const RegisterSet rax = register_bit(kRax);
    const Live asked = find_live(flow, site, {rax, false});
    require((asked.registers | rax) == kCallerSaved, "not asked, live");
    require(live.registers & rax || !(asked.registers & rax),
            "asked alone, as dead as among others");
    require(live.flags || !asked.flags, "flags are always asked");
    return live;
}

void check_direct(const Plan& plan, const Input& input, const Live& live) {
    static u8 buffer[kMaxDetour + 1];
    DirectConfig config = {.program = kSlot + 0x1000,
                           .slow = kSlot + 0x2000,
                           .argument = ~0ul,
                           .active = 8,
                           .mark = -128,
                           .preempt_count = input.flags & kPreempt ? 16 : 0,
                           .hits = input.flags & kFarHits ? 0x100000000 : 24,
                           .stats = kSlot + 0x3000,
                           .resched = kSlot + 0x4000,
                           .cs = 0x10,
                           .ss = 0x18,
                           .smap = (input.flags & kSmap) != 0};
    std::memcpy(&config.context, input.context, sizeof(config.context));
    config.context &= kAllFields;
    std::memcpy(&config.clobbers, input.clobbers, sizeof(config.clobbers));
    buffer[kMaxDetour] = 0xaa;
    DetourLayout layout;
    const Refusal refusal =
        emit_direct_detour(plan, config, live, kSlot, {buffer, kMaxDetour}, layout);
    require(buffer[kMaxDetour] == 0xaa, "within the buffer");
    if (refusal) return require(refusal.reason == Reason::OUT_OF_REACH, "only reach may fail");
    require(layout.displaced < layout.size && layout.out_of_line < layout.size, "layout");
    const Code code = {kSlot, {buffer, layout.size}};
    Insn insn;
    for (u64 at = kSlot; at < code.range().end; at = insn.end())
        require(decode(code.from(at), at, insn), "every byte decodes");
}

void check_function(const Input& input, Span<const u8> code) {
    const size_t cold = input.cold < code.size() ? input.cold : code.size();
    Flow flow;
    flow.function = {kText, code.first(code.size() - cold)};
    flow.cold = {kText + 0x10000, code.from(code.size() - cold)};
    flow.whole = input.flags & kWhole;
    flow.standard_abi = true;
    flow.has_fixups = false;
    flow.return_thunks = {kText + 0x1000, kText + 0x1020};
    flow.indirect_thunks = {kText + 0x2000, kText + 0x3000};
    const Rewritten rewritten = {kText + input.rewritten,
                                 static_cast<Rewritten::Kind>(input.kind % 3),
                                 kText + input.target};
    flow.rewritten = {&rewritten, 1};
    const Live live = check_live(flow, kText + input.site);

    const RegisterSet clobbers = find_clobbers(flow.function, flow.return_thunks);
    require(!(clobbers & ~kCallerSaved), "only caller-saved registers");

    Snapshot snapshot;
    snapshot.site = kText + input.site;
    snapshot.function = flow.function;
    snapshot.no_jump_tables = true;
    snapshot.tactics = kAllTactics;
    Plan plan;
    if (!make_plan(snapshot, plan) && plan.may_jump()) check_direct(plan, input, live);
}

void check_program(Span<const u8> bytes) {
    static x86::BpfInsn program[512];
    static x86::ContextState state[512];
    const size_t count = bytes.size() / sizeof(x86::BpfInsn);
    if (count > 512) return;
    if (count) std::memcpy(program, bytes.data(), count * sizeof(x86::BpfInsn));
    const x86::ContextUse use =
        x86::find_context_use({program, count}, state, [](i32 imm) { return imm < 0; });
    require(!(use.fields & ~kAllFields), "fields of the frame");
    require(!use.escapes || use.fields == kAllFields, "an escape takes all fields");
    require(!use.needs_run_context || use.calls, "only calls need a run's context");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
    check_program({data, size});
    if (size < sizeof(Input)) return 0;
    Input input;
    std::memcpy(&input, data, sizeof(input));
    check_function(input, Span<const u8>{data, size}.from(sizeof(input)));
    return 0;
}
