// SPDX-License-Identifier: GPL-2.0
#include "support/live_probe.h"

#include <linux/membarrier.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

extern "C" {
extern const char djprobe_live_handler[];
void djprobe_live_hit(const djprobe::x86::Frame* frame, djprobe::test::LiveProbe* probe);
}

// A site may leave the stack unaligned.
asm(R"(
.intel_syntax noprefix
.pushsection .text
.globl djprobe_live_handler
.type djprobe_live_handler, @function
djprobe_live_handler:
    push rbp
    mov rbp, rsp
    and rsp, -16
    call djprobe_live_hit
    leave
    ret
.size djprobe_live_handler, . - djprobe_live_handler
.popsection
.att_syntax prefix
)");

void djprobe_live_hit(const djprobe::x86::Frame* frame, djprobe::test::LiveProbe* probe) {
    if (frame->ip == probe->site()) probe->hit_jump();
}

namespace djprobe::test {
namespace {

std::atomic<LiveProbe*> probe_of_process = nullptr;

void handle_trap(int signal, siginfo_t*, void* context) {
    auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    LiveProbe* probe = probe_of_process;
    if (const u64 resume = probe ? probe->trap(static_cast<u64>(ip) - 1) : 0)
        ip = static_cast<greg_t>(resume);
    else
        ::signal(signal, SIG_DFL);  // not ours: die where it happened
}

int membarrier(int command) {
    return static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
}

}  // namespace

bool LivePort::is_supported() {
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE) == 0;
}

void LivePort::write(u64 address, Span<const u8> bytes) {
    arena_.write(address, bytes);
}

void LivePort::sync_cores() {
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
        throw std::runtime_error("membarrier: not registered for core syncs");
}

bool LivePort::matches(u64 address, Span<const u8> bytes) const {
    return !std::memcmp(reinterpret_cast<const void*>(address), bytes.data(), bytes.size());
}

LiveProbe::LiveProbe(Arena& arena, const Bytes& code, const LiveSite& site)
    : arena_(arena), port_(arena) {
    arena.write(arena.text(), code);
    arena.write(arena.text() + Arena::kHandler,
                long_jump(reinterpret_cast<u64>(djprobe_live_handler)));
    std::vector<x86::Landing> landings;
    for (const size_t offset : site.landings)
        landings.push_back({Reason::BRANCH_INTO_REGION, 0, arena.text() + offset});
    x86::Snapshot snapshot;
    snapshot.site = arena.text() + site.offset;
    snapshot.function = {arena.text(), view(code)};
    snapshot.landings = {landings.data(), landings.size()};
    snapshot.tactics = site.tactics;
    Bytes detour(x86::kMaxDetour);
    const x86::DetourConfig config = {.handler = arena.text() + Arena::kHandler,
                                      .argument = reinterpret_cast<u64>(this)};
    if (x86::make_plan(snapshot, plan_) || plan_.jump ||
        x86::emit_detour(plan_, config, arena.slot(), {detour.data(), detour.size()}, layout_) ||
        x86::make_jump_site(plan_, arena.slot() + layout_.entry, patch_) ||
        (plan_.board && x86::make_board(plan_, arena.slot() + layout_.entry, board_)))
        throw std::runtime_error("the site cannot have a jump");
    breakpoint_ = x86::make_breakpoint_site(plan_);
    arena.write(arena.slot(), detour);
    resume_ = arena.slot() + layout_.out_of_line;
    port_.sync_cores();

    probe_of_process = this;
    struct sigaction action = {};
    action.sa_sigaction = handle_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
}

LiveProbe::~LiveProbe() {
    probe_of_process = nullptr;
    signal(SIGTRAP, SIG_DFL);
}

u64 LiveProbe::trap(u64 address) {
    if (address == plan_.site) {
        ++int3_hits_;
        return resume_;
    }
    // Through the whole detour: the handler is on the way.
    return address == plan_.anchor ? arena_.slot() + layout_.entry : 0;
}

bool LiveProbe::holds(x86::TextForm form) {
    if (form == x86::TextForm::Jump) return !x86::check_text(port_, patch_, form);
    return !x86::check_text(port_, breakpoint_, form) && is_padding_whole();
}

bool LiveProbe::is_padding_whole() const {
    return !board_.length || port_.matches(board_.address, {board_.original, board_.length});
}

bool LiveProbe::arm() {
    if (!holds(x86::TextForm::Original)) return false;
    x86::arm(port_, std::array{&std::as_const(breakpoint_)});
    return holds(x86::TextForm::Breakpoint);
}

bool LiveProbe::optimize(const std::function<void()>& quiescence) {
    if (!holds(x86::TextForm::Breakpoint)) return false;
    if (is_slide()) x86::arm(port_, std::array{&std::as_const(patch_)});
    resume_ = arena_.slot() + layout_.displaced;
    quiescence();
    if (board_.length) x86::write_board(port_, board_);
    x86::optimize(port_, std::array{&std::as_const(patch_)});
    return holds(x86::TextForm::Jump);
}

bool LiveProbe::unoptimize(const std::function<void()>& quiescence) {
    if (!holds(x86::TextForm::Jump)) return false;
    x86::unoptimize(port_, std::array{&std::as_const(patch_)});
    if (is_slide()) x86::disarm(port_, std::array{&std::as_const(patch_)});
    resume_ = arena_.slot() + layout_.out_of_line;
    if (board_.length) {
        // A task may stand right on it.
        quiescence();
        x86::restore_board(port_, board_);
        port_.sync_cores();
    }
    return holds(x86::TextForm::Breakpoint);
}

bool LiveProbe::disarm() {
    if (!holds(x86::TextForm::Breakpoint)) return false;
    x86::disarm(port_, std::array{&std::as_const(breakpoint_)});
    return holds(x86::TextForm::Original);
}

Workers::Workers(size_t threads, std::function<bool(u64)> call) : call_(std::move(call)) {
    while (workers_.size() < threads) {
        workers_.push_back(std::make_unique<Worker>());
        Worker& worker = *workers_.back();
        worker.thread = std::thread([this, &worker] {
            while (!stopping_) {
                if (!call_(worker.passes)) ++wrong_;
                ++worker.passes;
                // With more threads than CPUs, a waiting thread would wait for time slices.
                if (waiting_) std::this_thread::yield();
            }
        });
    }
}

void Workers::quiescence() {
    waiting_ = true;
    for (const auto& worker : workers_) {
        // Two passes: the first may belong to a call that had already returned.
        const u64 enough = worker->passes + 2;
        while (worker->passes < enough)
            std::this_thread::yield();
    }
    waiting_ = false;
}

void Workers::stop() {
    stopping_ = true;
    for (const auto& worker : workers_)
        if (worker->thread.joinable()) worker->thread.join();
}

u64 Workers::calls() const {
    u64 calls = 0;
    for (const auto& worker : workers_)
        calls += worker->passes;
    return calls;
}

}  // namespace djprobe::test
