// SPDX-License-Identifier: GPL-2.0
// What a hit costs on the CPU at hand: the very detours that the module emits, run in userspace.
//
//   detour_bench [--benchmark_min_time=SECONDS] [--benchmark_repetitions=N] ...
//
// Prints a line for each shape, alone and on all cores at once, then a table. All times are CPU
// time, so that other load on the machine counts little. Judges nothing.
#include <asm/prctl.h>
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "arch/x86/detour/detour.h"
#include "arch/x86/detour/patch.h"

namespace {

using namespace djprobe;
using namespace djprobe::x86;

/// What a CPU of its own is in the kernel: each thread's %gs.
struct alignas(128) PerCpu {
    u64 nothing;
    u32 active, preempt_count;
    u64 hits, counter;
};
#define GS(field) static_cast<i32>(__builtin_offsetof(PerCpu, field))

/// The function, its slot and the programs, all within a jump's reach.
class Text {
  public:
    static constexpr size_t kSize = 1 << 16, kPiece = 1024;

    Text() {
        void* const at = mmap(nullptr, kSize, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        if (at == MAP_FAILED) throw std::runtime_error("cannot map memory for code");
        base_ = static_cast<u8*>(at);
        std::memset(base_, kInt3, kSize);
    }
    /// A piece of it, writable where it runs.
    Span<u8> take() { return {base_ + kPiece * used_++, kPiece}; }

  private:
    u8* base_;
    size_t used_ = 0;
};

Text& text() {
    static Text one;
    return one;
}

u64 address_of(Span<u8> code) {
    return reinterpret_cast<u64>(code.data());
}

/// As the kernel's JIT begins and ends a program. The counter is a per-CPU array's, looked up
/// inline.
u64 make_program(bool counts) {
    const Span<u8> code = text().take();
    Emitter out(code, address_of(code));
    out.code(0x55, 0x48, 0x89, 0xe5);  // push %rbp; mov %rsp, %rbp
    if (counts) {
        out.code(0xbf, 0, 0, 0, 0);        // mov $map, %edi
        out.code(0x31, 0xf6);              // xor %esi, %esi: the key
        out.code(0x48, 0x83, 0xfe, 0x01);  // cmp $1, %rsi
        out.code(0x73, 0x09);              // jae over the count
        out.code(0x65, 0x48, 0xff, 0x04, 0x25);
        out.imm32(static_cast<u32>(GS(counter)));  // incq %gs:counter
    }
    out.code(0x31, 0xc0, 0xc9, 0xc3);  // xor %eax, %eax; leave; ret
    return address_of(code);
}

/// An empty function whose first instruction is the site.
constexpr u8 kFunction[] = {0xb8, 0x78, 0x56, 0x34, 0x12, 0xc3};  // mov $, %eax; ret
// rax is what the site overwrites; rcx rdx rsi rdi r8 r9 stay.
constexpr RegisterSet kSixLive = 0x03c6;

struct Shape {
    const char* name;
    u64 function = 0;
    size_t instructions = 0;  ///< of the hot path, the displaced one and the program not counted
    size_t bytes = 0;
};

size_t count_hot_path(Span<const u8> slot, const DetourLayout& layout) {
    const u64 address = reinterpret_cast<u64>(slot.data());
    size_t count = 1;  // the site's jump
    for (u64 at = address + layout.entry;; ++count) {
        Insn insn;
        if (!decode(slot.from(at - address), at, insn)) throw std::runtime_error("undecodable");
        if (at == address + layout.displaced) --count;
        if (insn.kind == Kind::Jump) return count + 1;
        at = insn.end();
    }
}

/// A function whose site `emit` makes a slot for.
template <class Emit>
Shape make_shape(const char* name, Emit&& emit) {
    const Span<u8> function = text().take();
    std::memcpy(function.data(), kFunction, sizeof(kFunction));
    Shape shape{name, address_of(function)};
    Snapshot snapshot;
    snapshot.site = shape.function;
    snapshot.function = {shape.function, {function.data(), sizeof(kFunction)}};
    Plan plan;
    DetourLayout layout;
    PatchSite patch;
    const Span<u8> slot = text().take();
    if (make_plan(snapshot, plan) || plan.jump || emit(plan, address_of(slot), slot, layout) ||
        make_jump_site(plan, address_of(slot) + layout.entry, patch))
        throw std::runtime_error(std::string(name) + ": no detour");
    std::memcpy(function.data(), patch.jump, patch.length);
    shape.instructions = count_hot_path(slot, layout);
    shape.bytes = layout.size;
    return shape;
}

Shape make_direct(const char* name, u64 program, RegisterSet clobbers, FieldSet context,
                  bool flags) {
    static const u32 no_statistics = 0;
    // Within reach of the slots, as the kernel's static key is.
    const Span<u8> data = text().take();
    std::memcpy(data.data(), &no_statistics, sizeof(no_statistics));
    const DirectConfig config = {.program = program,
                                 .clobbers = clobbers,
                                 .context = context,
                                 .slow = program,
                                 .active = GS(active),
                                 .mark = -128,
                                 .preempt_count = GS(preempt_count),
                                 .hits = GS(hits),
                                 .stats = address_of(data),
                                 .resched = program};
    return make_shape(name, [&](const Plan& plan, u64 slot, Span<u8> out, DetourLayout& layout) {
        return emit_direct_detour(plan, config, {kSixLive, flags, false}, slot, out, layout);
    });
}

/// A counter in place of a program.
Shape make_counter(const char* name, bool flags) {
    const CountConfig config = {.counter = GS(hits), .lahf = true};
    return make_shape(name, [&](const Plan& plan, u64 slot, Span<u8> out, DetourLayout& layout) {
        return emit_counting_detour(plan, config, {kSixLive, flags, false}, slot, out, layout);
    });
}

// --- the shape for handlers in C ---

/// As the module keeps its handlers: a list, programs by address.
struct Handler {
    const Handler* next;
    u64 (*program)(Frame*);
};

/// What such a handler does for one program: the guard, the list, an indirect call.
[[gnu::target("general-regs-only")]] void run_handlers(Frame* frame, const Handler* handler) {
    u32 active = 1;
    asm volatile("incl %%gs:%c0" ::"i"(GS(preempt_count)) : "memory", "cc");
    asm volatile("xaddl %0, %%gs:%c1" : "+r"(active) : "i"(GS(active)) : "memory", "cc");
    for (; handler && !active; handler = handler->next) {
        handler->program(frame);
        asm volatile("incq %%gs:%c0" ::"i"(GS(hits)) : "memory", "cc");
    }
    asm volatile("decl %%gs:%c0" ::"i"(GS(active)) : "memory", "cc");
    asm volatile("decl %%gs:%c0" ::"i"(GS(preempt_count)) : "memory", "cc");
}

Shape make_handler(const char* name, u64 program) {
    static Handler handler;
    handler = {nullptr, reinterpret_cast<u64 (*)(Frame*)>(program)};
    const Span<u8> thunk = text().take();
    Emitter out(thunk, address_of(thunk));
    out.code(0xff, 0x25, 0, 0, 0, 0);  // jmp *(%rip): the handler is far away
    out.imm64(reinterpret_cast<u64>(&run_handlers));
    const DetourConfig config = {.handler = address_of(thunk),
                                 .argument = reinterpret_cast<u64>(&handler),
                                 .redirects = false};
    return make_shape(name, [&](const Plan& plan, u64 slot, Span<u8> out, DetourLayout& layout) {
        return emit_detour(plan, config, slot, out, layout);
    });
}

/// A function that calls the program itself, as if it had been compiled so.
Shape make_bare(const char* name, u64 program) {
    const Span<u8> code = text().take();
    Emitter out(code, address_of(code));
    out.call(program);
    out.bytes(kFunction);
    return {name, address_of(code), 1, 0};
}

std::vector<Shape> make_shapes() {
    const u64 counter = make_program(true), empty = make_program(false);
    constexpr RegisterSet counter_clobbers = 0x00c1;  // rax rsi rdi
    constexpr FieldSet argument = field_bit(__builtin_offsetof(Frame, di));
    const Span<u8> alone = text().take();
    std::memcpy(alone.data(), kFunction, sizeof(kFunction));
    return {
        {"no probe", address_of(alone)},
        make_bare("bare call, empty", empty),
        make_bare("bare call, counter", counter),
        make_handler("C handler, whole frame", counter),
        make_direct("whole frame, flags", counter, kCallerSaved, kAllFields, true),
        make_direct("three fields, flags", counter, kCallerSaved,
                    argument | argument << 1 | argument >> 1, true),
        make_direct("all registers, no frame", counter, kCallerSaved, 0, false),
        make_direct("one field", counter, counter_clobbers, argument, false),
        make_direct("lean, counter", counter, counter_clobbers, 0, false),
        make_direct("lean, empty", empty, register_bit(kRax), 0, false),
        make_counter("no program, live flags", true),
        make_counter("no program", false),
    };
}

constexpr benchmark::IterationCount kBatch = 64;

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all = make_shapes();
    return all;
}

void run_shape(benchmark::State& state) {
    const Shape& shape = shapes()[static_cast<size_t>(state.range(0))];
    state.SetLabel(shape.name);
    static thread_local PerCpu per_cpu;
    per_cpu = {};
    per_cpu.preempt_count = 0x80000000;  // no reschedule is due
    if (syscall(SYS_arch_prctl, ARCH_SET_GS, &per_cpu)) {
        state.SkipWithError("arch_prctl(ARCH_SET_GS) failed");
        return;
    }
    const auto function = reinterpret_cast<void (*)()>(shape.function);
    while (state.KeepRunningBatch(kBatch))
        for (benchmark::IterationCount i = 0; i < kBatch; ++i)
            function();
    const u64 hits = shape.bytes ? per_cpu.hits : static_cast<u64>(state.iterations());
    if (hits != static_cast<u64>(state.iterations())) state.SkipWithError("hits were lost");
    state.SetItemsProcessed(state.iterations());
}

int cores() {
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

constexpr int kShapes = 12;

BENCHMARK(run_shape)->DenseRange(0, kShapes - 1)->ThreadRange(1, cores());

/// Google Benchmark 1.8 has another field for it.
template <class Run>
bool has_failed(const Run& run) {
    if constexpr (requires { run.error_occurred; })
        return run.error_occurred;
    else
        return run.skipped != decltype(run.skipped){};
}

/// Shows the runs as usual and keeps what the table needs.
class Keeper : public benchmark::ConsoleReporter {
  public:
    struct Times {
        std::vector<double> one, all;  ///< nanoseconds of one iteration on one thread
    };

    void ReportRuns(const std::vector<Run>& runs) override {
        ConsoleReporter::ReportRuns(runs);
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration) continue;
            failed |= has_failed(run);
            Times& times = by_name[run.report_label];
            if (run.threads == 1) times.one.push_back(run.GetAdjustedCPUTime());
            if (run.threads == cores()) times.all.push_back(run.GetAdjustedCPUTime());
        }
    }

    std::map<std::string, Times> by_name;
    bool failed = false;
};

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void print_table(Keeper& keeper) {
    const double alone = median(keeper.by_name[shapes()[0].name].one);
    const double bare = median(keeper.by_name[shapes()[1].name].one);
    std::printf("\n%-24s %12s %6s %8s %14s %11s %11s\n", "shape", "instructions", "bytes",
                "ns/call", "above no probe", "above call", "cores/core");
    for (const Shape& shape : shapes()) {
        const Keeper::Times& times = keeper.by_name[shape.name];
        const double one = median(times.one), all = median(times.all);
        std::printf("%-24s %12zu %6zu %8.2f %14.2f %11.2f %10.2fx\n", shape.name,
                    shape.instructions, shape.bytes, one, one - alone, one - bare,
                    all > 0 ? cores() * one / all : 0);
    }
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    try {
        if (shapes().size() != kShapes) throw std::logic_error("the shapes are not kShapes");
        Keeper keeper;
        benchmark::RunSpecifiedBenchmarks(&keeper);
        if (!keeper.failed) print_table(keeper);
        return keeper.failed;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "detour_bench: %s\n", error.what());
        return 1;
    }
}
