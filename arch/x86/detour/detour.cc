// SPDX-License-Identifier: GPL-2.0
#include "detour.h"

namespace djprobe::x86 {
namespace {

/// A call of the handler with the whole frame.
class FrameCall {
  public:
    FrameCall(const DetourConfig& config, u64 site)
        : config_(config), site_(site), front_(config.front, config.live, kWhole) {}

    bool is_needed_after() const { return config_.after; }
    void emit(Emitter& out) {
        front_.emit(out);
        call(site_, config_.argument, out);
        front_.end(out);
    }
    size_t handler() const { return handler_; }
    size_t restore() const { return restore_; }
    void emit_after(u64 next, Emitter& out) { call(next, config_.after_argument, out); }
    void emit_cold(Emitter& out) {
        front_.emit_cold(out);
        if (!config_.redirects) return;
        out.bind(redirected_);
        resume_frame(out);
    }

  private:
    /// The handler gets the whole frame.
    static constexpr Live kWhole = {kAllRegisters, true, false};

    void call(u64 ip, u64 argument, Emitter& out) {
        push_frame({ip, config_.cs, config_.ss}, out);
        out.code(0xfc);  // cld: the ABI's promise to the handler
        if (config_.smap)
            out.code(0x0f, 0x01, 0xca);  // clac: the site may be within a user-access window
        out.code(0x48, 0x89, 0xe7);      // mov %rsp, %rdi
        out.code(0x48, 0xbe);            // movabs $argument, %rsi
        out.imm64(argument);
        handler_ = out.size();
        out.call(config_.handler);
        restore_ = out.size();
        if (config_.redirects) {
            out.code(0x84, 0xc0);  // test %al, %al
            out.jump_if(Condition::NotZero, redirected_);
        }
        pop_frame(out);
    }

    const DetourConfig& config_;
    u64 site_;
    Front front_;
    size_t handler_ = 0, restore_ = 0;  ///< of the call emitted last: its instruction, its end
    Label redirected_;
};

/// The site's own instructions, without a call behind the first.
struct NothingAfter {
    bool is_needed_after() const { return false; }
    void emit_after(u64, Emitter&) {}
};

struct DirectOnly : NothingAfter {
    ProgramCall call;

    void emit(Emitter& out) { call.emit(out); }
    size_t handler() const { return call.handler(); }
    size_t restore() const { return call.restore(); }
    void emit_cold(Emitter& out) { call.emit_cold(out); }
};

class CountOnly : public NothingAfter {
  public:
    CountOnly(const CountConfig& config, const Live& live)
        : config_(config), live_(live), count_(config, live) {}

    void emit(Emitter& out) {
        const size_t first = emit_counts(config_.first, live_, read_by(config_), out);
        count_.emit(out);
        handler_ = config_.first.empty() ? count_.handler() : first;
    }
    size_t handler() const { return handler_; }
    size_t restore() const { return count_.restore(); }
    void emit_cold(Emitter& out) { count_.emit_cold(out); }

  private:
    const CountConfig& config_;
    const Live& live_;
    Count count_;
    size_t handler_ = 0;
};

/// Continue behind `insn` in the original text, unless its relocated form never falls through: a
/// relocated call returns to the original text by itself.
void jump_back(const Insn& insn, Emitter& out) {
    if (!insn.is_terminal() && !insn.is_call()) out.jump(insn.end());
}

/// The displaced instructions [first, last) of the region.
Refusal emit_displaced(const Region& region, u8 first, u8 last, Emitter& out) {
    Span<const u8> bytes{region.bytes, region.length};
    for (u8 i = 0; i < last; ++i) {
        if (i >= first)
            if (const Refusal refusal = relocate(region.insns[i], bytes, out)) return refusal;
        bytes = bytes.from(region.insns[i].length);
    }
    return {};
}

/// The probed instruction, and what has to be called behind it.
template <class Call>
Refusal emit_probed(const Plan& plan, Call& call, Emitter& out) {
    if (const Refusal refusal = relocate(plan.first, {plan.first_bytes, plan.first.length}, out))
        return refusal;
    if (call.is_needed_after()) call.emit_after(plan.first.end(), out);
    return {};
}

template <class Call>
Refusal emit_first(const Plan& plan, Call& call, Emitter& out) {
    if (const Refusal refusal = emit_probed(plan, call, out)) return refusal;
    jump_back(plan.first, out);
    return {};
}

/// Behind an instruction that may leave the straight flow there is nothing to call from.
Refusal check_after(const Plan& plan, const DetourConfig& config) {
    const bool straight = plan.first.kind == Kind::Plain || plan.first.kind == Kind::Nop;
    return config.after && !straight ? Refusal{Reason::POST_AT_BRANCH, plan.site} : Refusal{};
}

Refusal finish(const Plan& plan, const Emitter& out, DetourLayout& layout) {
    layout.size = static_cast<u16>(out.size());
    return out.ok() ? Refusal{} : Refusal{Reason::OUT_OF_REACH, plan.site};
}

template <class Call>
Refusal emit_with(Call& call, const Plan& plan, Emitter& out, DetourLayout& layout) {
    const Region& region = plan.region;
    layout = DetourLayout{};
    if (const Refusal refusal = emit_displaced(region, 0, plan.before, out)) return refusal;
    layout.call = static_cast<u16>(out.size());
    call.emit(out);
    layout.handler = static_cast<u16>(call.handler());
    layout.restore = static_cast<u16>(call.restore());
    layout.displaced = static_cast<u16>(out.size());
    if (const Refusal refusal = emit_probed(plan, call, out)) return refusal;
    if (const Refusal refusal =
            emit_displaced(region, static_cast<u8>(plan.before + 1), region.count, out))
        return refusal;
    jump_back(region.last(), out);
    // With one displaced instruction the two copies would be the same.
    layout.out_of_line = layout.displaced;
    if (region.count - plan.before > 1) {
        layout.out_of_line = static_cast<u16>(out.size());
        if (const Refusal refusal = emit_first(plan, call, out)) return refusal;
    }
    layout.cold = static_cast<u16>(out.size());
    call.emit_cold(out);
    return finish(plan, out, layout);
}

}  // namespace

Refusal emit_detour(const Plan& plan, const DetourConfig& config, u64 address, Span<u8> buffer,
                    DetourLayout& layout) {
    if (const Refusal refusal = check_after(plan, config)) return refusal;
    Emitter out(buffer, address);
    out.return_through(config.return_thunk);
    FrameCall call(config, plan.site);
    return emit_with(call, plan, out, layout);
}

Refusal emit_direct_detour(const Plan& plan, const DirectConfig& config, const Live& live,
                           u64 address, Span<u8> buffer, DetourLayout& layout) {
    Emitter out(buffer, address);
    out.return_through(config.return_thunk);
    DirectOnly call{{}, ProgramCall(config, live, plan.site)};
    return emit_with(call, plan, out, layout);
}

Refusal emit_counting_detour(const Plan& plan, const CountConfig& config, const Live& live,
                             u64 address, Span<u8> buffer, DetourLayout& layout) {
    Emitter out(buffer, address);
    out.return_through(config.return_thunk);
    CountOnly call(config, live);
    return emit_with(call, plan, out, layout);
}

Refusal emit_out_of_line(const Plan& plan, const DetourConfig& config, u64 address, Span<u8> buffer,
                         DetourLayout& layout) {
    if (const Refusal refusal = check_after(plan, config)) return refusal;
    Emitter out(buffer, address);
    out.return_through(config.return_thunk);
    layout = DetourLayout{};
    FrameCall call(config, plan.site);
    if (const Refusal refusal = emit_first(plan, call, out)) return refusal;
    if (config.after) call.emit_cold(out);
    return finish(plan, out, layout);
}

}  // namespace djprobe::x86
