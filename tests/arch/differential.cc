// SPDX-License-Identifier: GPL-2.0
// Regions of real code on the real CPU, original against detour.
//
//   differential COUNT SEED ELF...
//
// Takes COUNT instruction starts at random from the files' text, displaces the
// region there, and runs both from the same registers, flags, vectors and memory. Branches and
// RIP-relative operands are turned to where they can do no harm; both runs end where control leaves
// the region, or at a fault, which must be the same instruction's. Prints totals; exit status 1
// when anything differs.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include "arch/x86/detour/detour.h"
#include "arch/x86/detour/patch.h"
#include "support/elf_text.h"
#include "support/machine.h"

extern "C" void djprobe_test_enter(djprobe::test::Machine* machine, djprobe::u64 entry);

namespace {

using namespace djprobe;
using namespace djprobe::x86;
using test::Bytes;
using test::Machine;

// The sandbox: one page of text whose every other byte is int3, a slot, and data with guards. What
// a detour writes below the stack pointer lies apart from where pointers point.
constexpr size_t kReturnsOffset = 0x400, kTextOffset = 0x4000, kSlotOffset = 0x5000;
constexpr size_t kHandlerOffset = 0x5800, kCodeSize = 0x6000, kCountOffset = 0x8000;
// The stack lies so far away that no pointer with some changed bits gets there.
constexpr size_t kStackPage = 0x1000000, kStackSize = 0x1000, kBelow = 0x800;
constexpr size_t kDataOffset = 0x10000, kPointers = 0x1000, kDataSize = 0x2000;
constexpr size_t kStackOffset = kStackPage + kBelow, kPointersOffset = kDataOffset + kPointers;
constexpr size_t kMemorySize = kStackSize + kDataSize;  // both
constexpr size_t kBoxSize = 0x1002000;
constexpr size_t kLook = 48;  // bytes of code that a region is taken from
constexpr size_t kFxSize = 512, kFxVectors = 32, kFxXmm = 160, kFxVectorsEnd = 416;

struct alignas(16) FxState {
    u8 bytes[kFxSize];
};

/// Where and how a run ended.
struct Stop {
    int signal;
    u64 ip;
    Machine machine;
    FxState fx;
};

u8* box;
u8* code_alias;  ///< the writable view of the code
Stop stop;
FxState clean;

constexpr int kGregs[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                          REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

void on_stop(int signal, siginfo_t*, void* raw) {
    auto& context = static_cast<ucontext_t*>(raw)->uc_mcontext;
    stop.signal = signal;
    stop.ip = static_cast<u64>(context.gregs[REG_RIP]);
    for (size_t i = 0; i < Machine::kRegisters; ++i)
        stop.machine.registers[i] = static_cast<u64>(context.gregs[kGregs[i]]);
    // RF is set in the image of a fault: the CPU's note, not the program's.
    stop.machine.flags = static_cast<u64>(context.gregs[REG_EFL]) & ~0x10000ul;
    const auto* const fx = reinterpret_cast<const u8*>(context.fpregs);
    std::memcpy(&stop.fx, fx, kFxSize);
    // Parts that are in their initial state are not stored; the XSAVE header tells which.
    u64 stored;
    std::memcpy(&stored, fx + kFxSize, sizeof(stored));
    if (!(stored & 1)) std::memset(stop.fx.bytes + kFxVectors, 0, kFxXmm - kFxVectors);
    if (!(stored & 2)) std::memset(stop.fx.bytes + kFxXmm, 0, kFxVectorsEnd - kFxXmm);
    context.gregs[REG_RIP] = static_cast<greg_t>(test::exit_address());
    context.gregs[REG_EFL] = 0x202;
    // Some machines cannot go on with a stack pointer that is no address: the way out would fault
    // again, for ever.
    context.gregs[REG_RSP] = reinterpret_cast<greg_t>(box + kStackOffset);
}

void set_up() {
    const int file = memfd_create("djprobe-differential", MFD_CLOEXEC);
    void* at = mmap(nullptr, kBoxSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (file < 0 || ftruncate(file, kCodeSize) || at == MAP_FAILED)
        throw std::runtime_error("cannot map the sandbox");
    box = static_cast<u8*>(at);
    void* const alias = mmap(nullptr, kCodeSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (alias == MAP_FAILED ||
        mmap(box, kCodeSize, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, file, 0) != at ||
        mprotect(box + kCountOffset, 0x1000, PROT_READ | PROT_WRITE) ||
        mprotect(box + kStackPage, kStackSize, PROT_READ | PROT_WRITE) ||
        mprotect(box + kDataOffset, kDataSize, PROT_READ | PROT_WRITE))
        throw std::runtime_error("cannot map the sandbox");
    code_alias = static_cast<u8*>(alias);
    std::memset(code_alias, kInt3, kCodeSize);
    static u8 signal_stack[1 << 16];
    const stack_t stack = {.ss_sp = signal_stack, .ss_flags = 0, .ss_size = sizeof(signal_stack)};
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_stop;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int which : {SIGSEGV, SIGILL, SIGBUS, SIGTRAP, SIGFPE})
        sigaction(which, &action, nullptr);
    asm volatile("fxsave %0" : "=m"(clean));
    // Counts, and spoils what a handler may spoil.
    Emitter out({code_alias + kHandlerOffset, 0x100}, reinterpret_cast<u64>(box + kHandlerOffset));
    out.code(0x48, 0xff, 0x05);  // incq
    out.rel32(reinterpret_cast<u64>(box + kCountOffset));
    for (const u8 reg : {0, 1, 2, 6, 7})
        out.code(0xb8 | reg, 0xef, 0xbe, 0xad, 0xde);
    for (const u8 reg : {0, 1, 2, 3})
        out.code(0x41, 0xb8 | reg, 0xef, 0xbe, 0xad, 0xde);
    out.code(0xf6, 0xd8, 0xc3);  // neg %al; ret
}

/// Code was written through another address: the CPU must drop what it has fetched before. iret
/// serializes, and unlike cpuid costs no exit from a virtual machine.
void serialize() {
    asm volatile(
        "mov %%ss, %%eax; push %%rax; lea 8(%%rsp), %%rax; push %%rax; pushfq;"
        "mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax; push %%rax; iretq; 1:" ::
            : "rax", "memory", "cc");
}

/// Everything to its initial state, the parts that fxrstor does not know included.
void reset_vectors() {
    alignas(64) static const u8 initial[8192] = {};
    if (__builtin_cpu_supports("avx")) asm volatile("xrstor %0" ::"m"(initial), "a"(0xe7), "d"(0));
    asm volatile("fxrstor %0" ::"m"(clean));
}

bool is_prefix(u8 byte) {
    const bool legacy = byte && std::strchr("\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", byte);
    return legacy || byte >> 4 == 4;
}

/// Why a region is not run: what it does cannot be compared, or would harm this process.
const char* unfit(const Insn& insn, const u8* bytes) {
    // A REX prefix before another prefix is ignored.
    const u8* p = bytes;
    for (; is_prefix(*p); ++p)
        if (*p == 0x64) return "fs segment: this thread's own storage";
    const u8 reg = insn.modrm_offset ? bytes[insn.modrm_offset] >> 3 & 7 : 0;
    const u8 mod = insn.modrm_offset ? bytes[insn.modrm_offset] >> 6 : 0;
    if (p[0] == 0x9d) return "popf: may set the trap flag";
    if (p[0] == 0x8e) return "segment register";
    if (p[0] == 0x0f) {
        if (p[1] == 0x31 || p[1] == 0x33 || p[1] == 0xa2 || (p[1] == 0x01 && p[2] == 0xf9))
            return "time, counters, cpuid";
        if (p[1] == 0xc7 && mod == 3) return "random numbers, cpu number";
        if (p[1] == 0xae && (mod != 3 || reg < 5)) return "extended state, segment bases";
        if (p[1] == 0xc7 && mod != 3 && reg != 1) return "extended state, segment bases";
        if (p[1] == 0x01 && (p[2] == 0xef || p[2] == 0xee)) return "protection keys";
        if (p[1] == 0xb2 || p[1] == 0xb4 || p[1] == 0xb5 || p[1] == 0xa1 || p[1] == 0xa9)
            return "segment register";
    }
    if ((p[0] == 0xd9 || p[0] == 0xdd) && mod != 3 && reg == 6)
        return "x87 environment: holds the address of an instruction";
    // Userspace code may keep data below the stack pointer; kernels may not, and detours write
    // there. Data that looks like code exchanges rsp to the same effect.
    if (insn.stack_relative && mod == 1 &&
        static_cast<signed char>(bytes[insn.modrm_offset + 2]) < 0)
        return "red zone";
    if (p[0] == 0x94 && !(p > bytes && p[-1] & 1 && (p[-1] & 0xf0) == 0x40)) return "red zone";
    return nullptr;
}

bool is_string(const u8* bytes) {
    while (is_prefix(*bytes))
        ++bytes;
    return (*bytes >= 0xa4 && *bytes <= 0xa7) || (*bytes >= 0xaa && *bytes <= 0xaf);
}

/// Branches to elsewhere lead to some int3 of the text page, RIP-relative operands to the data.
void tame(Bytes& code, u64 address, u64 random) {
    for (size_t at = 0; at < code.size();) {
        Insn insn;
        if (!decode({code.data() + at, code.size() - at}, address + at, insn)) return;
        const auto put = [&](size_t field, u64 target) {
            const u32 distance = static_cast<u32>(target - insn.end());
            std::memcpy(&code[at + field], &distance, 4);
        };
        if (insn.rel_size == 4)
            put(insn.rel_offset, reinterpret_cast<u64>(box) + kReturnsOffset + (random & 0x1ff));
        if (insn.rip_disp_offset)
            put(insn.rip_disp_offset,
                reinterpret_cast<u64>(box) + kPointersOffset - 0x100 + (random >> 16 & 0x1f0));
        at += insn.length;
        random = random * 6364136223846793005ul + 1442695040888963407ul;
    }
}

Machine random_machine(std::mt19937_64& random) {
    Machine machine = Machine::random(random);
    for (u64& value : machine.registers) {
        const u64 kind = value % 16;
        if (kind < 8)
            value = reinterpret_cast<u64>(box) + kPointersOffset + (value >> 8 & 0x3f8);
        else if (kind < 13)
            value = value >> 8 & 0xff;
    }
    machine[Machine::SP] = reinterpret_cast<u64>(box) + kStackOffset;
    return machine;
}

class Differential {
  public:
    explicit Differential(u64 seed) : random_(seed) {
        for (size_t at = 0; at < kMemorySize; at += 8) {
            // Above the stack pointer: addresses of int3s, for returns.
            const bool stack = at < kStackSize;
            const u64 word = stack
                                 ? reinterpret_cast<u64>(box) + kReturnsOffset + (random_() & 0x1ff)
                                 : random_() & 0xff;
            std::memcpy(initial_ + at, &word, 8);
        }
    }

    void try_site(const u8* bytes, size_t available) {
        Bytes code(bytes, bytes + std::min(available, kLook));
        const u64 text = reinterpret_cast<u64>(box) + kTextOffset;
        tame(code, text, random_());
        Snapshot snapshot;
        snapshot.site = text;
        snapshot.function = {text, {code.data(), whole(code, text)}};
        snapshot.no_jump_tables = true;
        Plan plan;
        Refusal refusal = make_plan(snapshot, plan);
        if (!refusal) refusal = plan.jump;
        if (refusal) return skip(std::string("refused: ") + reason_name(refusal.reason));
        for (const Insn& insn : plan.region.all()) {
            if (const char* why = unfit(insn, &code[insn.address - text])) return skip(why);
            if (insn.rel_size && insn.target == text) return skip("loops to its own start");
        }
        run_both(plan, code);
    }

    int report() const {
        std::printf("%zu regions: %zu ran through, %zu faulted alike, %zu differed\n",
                    same_ + faults_ + differences_, same_, faults_, differences_);
        size_t skipped = 0;
        for (const auto& [why, count] : skipped_)
            skipped += count;
        std::printf("%zu skipped\n", skipped);
        for (const auto& [why, count] : skipped_)
            std::printf("  %8zu %s\n", count, why.c_str());
        return differences_ || !same_;
    }

    size_t done() const { return same_ + faults_ + differences_; }

  private:
    void skip(const std::string& why) { ++skipped_[why]; }

    static size_t whole(const Bytes& code, u64 text) {
        size_t at = 0;
        for (Insn insn; at < code.size(); at += insn.length)
            if (!decode({code.data() + at, code.size() - at}, text + at, insn)) break;
        return at;
    }

    Stop run(const Machine& start, u64 entry, const u8* data) {
        std::memcpy(box + kStackPage, data, kStackSize);
        std::memcpy(box + kDataOffset, data + kStackSize, kDataSize);
        Machine machine = start;
        serialize();
        reset_vectors();
        djprobe_test_enter(&machine, entry);
        reset_vectors();
        return stop;
    }

    /// The instruction of the original whose copy lies at `ip`, or `ip` itself.
    static u64 original_of(u64 ip, const Plan& plan, const DetourLayout& layout) {
        u64 at = reinterpret_cast<u64>(box) + kSlotOffset + layout.displaced;
        Span<const u8> bytes{plan.region.bytes, plan.region.length};
        for (const Insn& insn : plan.region.all()) {
            u8 copy[kMaxRelocated];
            Emitter out(copy, at);
            static_cast<void>(relocate(insn, bytes, out));
            if (ip >= at && ip < at + out.size()) return insn.address;
            at += out.size();
            bytes = bytes.from(insn.length);
        }
        return ip;
    }

    void run_both(const Plan& plan, const Bytes& code) {
        const u64 base = reinterpret_cast<u64>(box);
        const DetourConfig config = {.handler = base + kHandlerOffset, .argument = 1};
        DetourLayout layout;
        PatchSite patch;
        u8* const text = code_alias + kTextOffset;
        std::memset(code_alias + kSlotOffset, kInt3, kMaxDetour);
        if (emit_detour(plan, config, base + kSlotOffset, {code_alias + kSlotOffset, kMaxDetour},
                        layout) ||
            make_jump_site(plan, base + kSlotOffset + layout.entry, patch))
            return skip("no detour");
        Machine start = random_machine(random_);
        // Backward strings would run through what the detour has left below the stack pointer.
        for (const Insn& insn : plan.region.all())
            if (is_string(&code[insn.address - base - kTextOffset]))
                start.flags &= ~u64{test::kDirection};

        std::memcpy(text, patch.jump, patch.length);
        Stop detour = run(start, base + kTextOffset, initial_);
        static u8 after[kMemorySize], before[kMemorySize];
        std::memcpy(after, box + kStackPage, kStackSize);
        std::memcpy(after + kStackSize, box + kDataOffset, kDataSize);
        u64 hits;
        std::memcpy(&hits, box + kCountOffset, 8);
        std::memset(box + kCountOffset, 0, 8);

        // Below the stack pointer is what the detour's frame has left there, as an interrupt may.
        std::memcpy(before, after, kBelow);
        std::memcpy(before + kBelow, initial_ + kBelow, kMemorySize - kBelow);
        std::memcpy(text, plan.region.bytes, plan.region.length);
        const Stop original = run(start, base + kTextOffset, before);
        std::memset(text, kInt3, kLook);
        // The harness pushes the flags on its way in, where the detour's frame was.
        const auto* const flags = reinterpret_cast<const u8*>(&start.flags);
        for (size_t i = 0; i < 8; ++i)
            if (box[kStackOffset - 8 + i] == flags[i]) after[kBelow - 8 + i] = flags[i];

        const Range region = {base + kTextOffset, base + kTextOffset + plan.region.length};
        detour.ip = original_of(detour.ip, plan, layout);
        // The copy of an indirect call has pushed the return address when its operand or target
        // turns out to be bad; in a kernel both are fatal.
        const Insn& last = plan.region.last();
        if (last.kind == Kind::IndirectCall && original.ip == last.address &&
            original.ip == detour.ip) {
            const size_t pushed = detour.machine[Machine::SP] - (base + kStackPage);
            if (pushed <= kStackSize - 8) std::memcpy(after + pushed, box + kStackPage + pushed, 8);
            detour.machine[Machine::SP] += 8;
        }
        const bool equal =
            hits == 1 && original.signal == detour.signal && original.ip == detour.ip &&
            original.machine == detour.machine &&
            !std::memcmp(original.fx.bytes + kFxVectors, detour.fx.bytes + kFxVectors,
                         kFxVectorsEnd - kFxVectors) &&
            !std::memcmp(original.fx.bytes + 24, detour.fx.bytes + 24, 4) &&  // mxcsr
            !std::memcmp(box + kStackPage, after, kStackSize) &&
            !std::memcmp(box + kDataOffset, after + kStackSize, kDataSize);
        if (!equal)
            tell(original, detour, hits, code, plan);
        else
            ++(original.signal == SIGTRAP || !region.contains(original.ip) ? same_ : faults_);
    }

    void tell(const Stop& original, const Stop& detour, u64 hits, const Bytes& code,
              const Plan& plan) {
        if (++differences_ > 10) return;
        std::printf("differs: signal %d at %lx, detour %d at %lx, hits %lu\n%s", original.signal,
                    original.ip, detour.signal, detour.ip, hits,
                    difference(detour.machine, original.machine).c_str());
        for (size_t i = 24; i < kFxVectorsEnd; ++i)
            if (original.fx.bytes[i] != detour.fx.bytes[i] && (i < 28 || i >= kFxVectors)) {
                std::printf("vector state differs from byte %zu on\n", i);
                break;
            }
        for (size_t i = 0; i < plan.region.length; ++i)
            std::printf("%02x ", code[i]);
        std::printf("\n");
    }

    std::mt19937_64 random_;
    u8 initial_[kMemorySize];
    size_t same_ = 0, faults_ = 0, differences_ = 0;
    std::map<std::string, size_t> skipped_;
};

int run_all(size_t count, u64 seed, char** paths, int files) {
    set_up();
    Differential differential(seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < files; ++i) {
        const std::vector<Bytes> sections = test::text_of(paths[i]);
        size_t bytes = 0;
        for (const Bytes& code : sections)
            bytes += code.size();
        // About every fourth byte starts an instruction; some of them are skipped.
        const size_t wanted = count / static_cast<size_t>(files);
        const size_t goal = differential.done() + wanted;
        while (bytes && differential.done() < goal) {
            const u64 before = differential.done();
            const u64 every = std::max<u64>(1, bytes / 5 / (wanted + 1));
            for (const Bytes& code : sections)
                for (size_t at = 0; at < code.size() && differential.done() < goal;) {
                    Insn insn;
                    if (!decode({code.data() + at, code.size() - at}, at, insn)) {
                        ++at;
                        continue;
                    }
                    if (random() % every == 0) differential.try_site(&code[at], code.size() - at);
                    at += insn.length;
                }
            if (differential.done() == before) break;
        }
    }
    return differential.report();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: differential COUNT SEED ELF...\n");
        return 2;
    }
    alarm(600);  // code under test that runs away must not run on
    try {
        return run_all(std::strtoull(argv[1], nullptr, 0), std::strtoull(argv[2], nullptr, 0),
                       argv + 3, argc - 3);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "differential: %s\n", error.what());
        return 2;
    }
}
