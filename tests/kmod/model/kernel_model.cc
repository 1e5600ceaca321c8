// SPDX-License-Identifier: GPL-2.0
#include "kernel_model.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "arch/x86/analysis/plan.h"
#include "failure.h"

namespace djprobe::model {

Kernel* kernel = nullptr;

namespace {

constexpr size_t kChunk = 16384;
constexpr size_t kCodeSize = 16;

struct Kind {
    std::array<u64, 3> insns;  ///< struct bpf_insn
    std::vector<u8> code;
    bool needs_context;  ///< and so must not be called directly
};

/// r0 = 0; exit. r0 = *(u64 *)(r1 + 112); exit. call 7; exit. The first one again, while a
/// tracer is attached to it: a call is where the others have a nop for one.
const std::array<Kind, Kernel::kPrograms> kKinds = {{
    {{0x00000000000000b7, 0x95, 0x95}, {0x0f, 0x1f, 0x44, 0x00, 0x00, 0x31, 0xc0, 0xc3}, false},
    {{0x0000000000701079, 0x95, 0x95},
     {0x0f, 0x1f, 0x44, 0x00, 0x00, 0x48, 0x8b, 0x47, 0x70, 0xc3},
     false},
    {{0x0000000700000085, 0x95, 0x95}, {0x0f, 0x1f, 0x44, 0x00, 0x00, 0x31, 0xc0, 0xc3}, true},
    {{0x00000000000000b7, 0x95, 0x95}, {0xe8, 0x00, 0x01, 0x00, 0x00, 0x31, 0xc0, 0xc3}, true},
}};

}  // namespace

Kernel::Kernel(u64 seed) : image(seed) {
    kernel = this;
    image.load_module();
    kprobes.on_new = [this] { watches_kprobes = true; };
}

Kernel::~Kernel() {
    if (module == ModuleState::Gone) image.load_module();
    kernel = nullptr;
}

// ---- Handlers. A program's place is used again by others, as memory is.

Handler* Kernel::make_handler(int kind, unsigned int wants) {
    auto handler = std::make_unique<Handler>();
    handler->link.wants = wants;
    handler->hits_field = next_field_ += 8;
    // A displacement reaches every other one.
    if (kind == kCounter)
        handler->link.counter = static_cast<long>((next_field_ & 8 ? 0x41'4200'0000 : 0x4344'0000) +
                                                  handler->hits_field);
    // Of every other one of those, too. The counter that the actions name is its own.
    if (kind == kCounter && next_field_ & 16)
        handler->actions = {{DJPROBE_ACTION_IF_GT, 7, 4, 0, 0, 4096},
                            {DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 0}};
    // And conditions in front of some programs.
    if (kind >= 0 && next_field_ & 16)
        handler->actions = {{DJPROBE_ACTION_IF_EQ, DJPROBE_TASK_TGID, 4, DJPROBE_ACTION_TASK, 0, 1},
                            {DJPROBE_ACTION_IF_NE, 6, 8, 0, 0, kConditionMark}};
    for (size_t i = 0; kind >= 0 && i < programs_.size(); ++i) {
        if (programs_[i].kind >= 0) continue;
        programs_[i].kind = kind;
        memcpy(programs_[i].insns, kKinds[kind].insns.data(), sizeof(kKinds[kind].insns));
        memcpy(image.text(image.programs() + i * kCodeSize), kKinds[kind].code.data(),
               kKinds[kind].code.size());
        handler->program = static_cast<int>(i);
        handler->needs_context = kKinds[kind].needs_context;
        break;
    }
    watch.add_handler(*handler);
    ++handlers;
    made_.push_back(std::move(handler));
    return made_.back().get();
}

bool Kernel::describe(const Handler& handler, djk_program& out) const {
    if (handler.program < 0) return false;
    const Program& program = programs_[handler.program];
    out.insns = program.insns;
    out.insn_count = 2;
    out.code = image.programs() + handler.program * kCodeSize;
    out.code_size = kKinds[program.kind].code.size();
    out.hits = static_cast<long>(handler.hits_field);
    return true;
}

void Kernel::destroy(Handler& handler) {
    watch.remove_handler(handler);
    if (handler.program >= 0) programs_[handler.program].kind = -1;
    --handlers;
}

// ---- Memory.

bool Kernel::may_allocate() {
    if (fail_after < 0 || (fail_after > 0 && fail_after--)) return true;
    if (!keep_failing) fail_after = -1;
    ++failed;
    return false;
}

void* Kernel::allocate(size_t size, bool large) {
    if (on_gap && registry_locked && !text_locked) on_gap();
    return may_allocate() ? take_memory(size, large) : nullptr;
}

void* Kernel::insist(size_t size) {
    if (text_locked) fail("a wait for memory under the text lock");
    if (on_gap && registry_locked) on_gap();
    return take_memory(size, false);
}

void* Kernel::take_memory(size_t size, bool large) {
    void* memory = calloc(1, size ? size : 1);
    watch.add_allocation(memory, size, large);
    return memory;
}

void* Kernel::allocate_exec(size_t size) {
    if (size != kChunk) fail("%zu bytes of executable memory asked for", size);
    if (!may_allocate()) return nullptr;
    for (size_t i = 0; i < chunk_taken_.size(); ++i) {
        if (chunk_taken_[i]) continue;
        chunk_taken_[i] = true;
        ++exec_chunks;
        u8* memory = image.text(image.exec().begin + i * kChunk);
        memset(memory, x86::kInt3, kChunk);
        return memory;
    }
    return nullptr;
}

void Kernel::free_exec(void* memory, size_t size) {
    const u64 begin = reinterpret_cast<u64>(memory);
    const size_t index = (begin - image.exec().begin) / kChunk;
    if (size != kChunk || !chunk_taken_[index]) fail("%p: freed, but not allocated", memory);
    watch.free_exec({begin, begin + size});
    chunk_taken_[index] = false;
    --exec_chunks;
    ++exec_frees;
    memset(memory, 0xf1, size);
}

// ---- Text.

bool Kernel::is_text(u64 address) const {
    return image.core().contains(address) ||
           (module != ModuleState::Gone && image.module().contains(address));
}

void Kernel::write(u64 address, const void* bytes, size_t size) {
    if (!text_locked) fail("%#lx: text is written without the lock", address);
    if (!image.exec().contains(address) && !is_text(address))
        fail("%#lx: written, but its text has been freed", address);
    const auto* from = static_cast<const u8*>(bytes);
    watch.before_write(address, from, size);
    memcpy(image.text(address), from, size);
    watch.after_write(address, from, size);
}

void Kernel::quiesce() {
    if (text_locked) fail("a quiescence is waited for with the text lock held");
    const u64 begun = watch.begin_quiescence();
    ++waiting;
    if (on_quiesce) on_quiesce(registry_locked);
    --waiting;
    watch.end_quiescence(begun);
}

void Kernel::pause() {
    ++pauses;
    watch.look();
    if (on_pause) on_pause();
}

void Kernel::run_optimizer() {
    in_optimizer = true;
    // The two run in either order.
    if (watches_kprobes) watches_kprobes = djp_keep_for_kprobes();
    djp_optimizer_run();
    in_optimizer = false;
}

void Kernel::settle() {
    std::function<void(bool)> others;
    std::function<void()> others_between;
    // The last tries are for what another patcher keeps.
    for (int i = 0; i < 16 && (kicked || (kicked_later && i < 8)); ++i) {
        kicked = kicked_later = false;
        // Others may ask, too; not for ever.
        if (i == 4) {
            others = std::exchange(on_quiesce, nullptr);
            others_between = std::exchange(on_pause, nullptr);
        }
        run_optimizer();
    }
    if (others) on_quiesce = std::move(others);
    if (others_between) on_pause = std::move(others_between);
    if (kicked) fail("the optimizer asks for itself again and again");
}

// ---- The module.

void Kernel::module_goes() {
    if (module != ModuleState::Live || pins) fail("the model unloads a module in use");
    module = ModuleState::Going;
}

void Kernel::module_leaves() {
    const Range text = image.module();
    const djk_extent extent = {text.begin, text.end};
    watch.leaving = text;
    djp_module_gone(&extent);
    watch.leaving = {};
    // Until it is freed a parameter's callback may run. What lies under a kprobe stays as it is.
    if (!kprobes.any_within(text)) watch.look();
    watch.forget_module();
    module = ModuleState::Gone;
    kprobes.forget(text);
    image.free_module();
}

void Kernel::module_comes() {
    image.load_module();
    module = ModuleState::Live;
}

}  // namespace djprobe::model
