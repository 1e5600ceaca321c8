// SPDX-License-Identifier: GPL-2.0
// The text of a kernel or a module, decoded once: what arch/x86/analysis/decide.h asks about its
// sites.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../arch/x86/analysis/decide.h"
#include "base/stop_signals.h"
#include "survey/tables.h"

namespace djprobe::loader {

class TextMap {
  public:
    struct Function {
        Code code;
        std::uint64_t real_end;  ///< 0: it was not decoded
        Range dead_padding;      ///< of a function that was decoded, see x86::dead_padding()
        Refusal undecodable;     ///< where decoding stopped, if before the end
        Refusal indirect_jump;   ///< one that may lead anywhere within it
        std::string_view name;   ///< the first one of its address
        bool nameless;  ///< another function's name: what the linker has left of a weak one
        bool blacklisted;
        bool idle;
        bool fragile;
        bool trap_path;  ///< runs on every int3
    };

    /// Decode every function, or only the code that matters to the sites within `focus`; the map
    /// then answers for these sites only. The image and the facts must outlive the map. That takes
    /// long: with `stop` it throws Error once a stop is requested.
    TextMap(const KernelImage& image, const TextFacts& facts, std::vector<Range> focus = {},
            const StopSignals* stop = nullptr);

    [[nodiscard]] const std::vector<Function>& functions() const noexcept { return functions_; }
    [[nodiscard]] bool is_insn_start(std::uint64_t address) const noexcept {
        const std::uint64_t bit = address - facts_.text.begin;
        return starts_[bit / 64] >> bit % 64 & 1;
    }

    [[nodiscard]] const TextFacts& facts() const noexcept { return facts_; }

    /// Where control may arrive within `range` from elsewhere, by target: its own function's
    /// branches too.
    [[nodiscard]] std::span<const x86::Landing> arrivals(Range range) const;

    /// The first instruction behind a function's endbr64 and ftrace call: where its arguments are.
    [[nodiscard]] std::uint64_t entry(std::size_t function) const;

    /// A function's name as the command line takes it: "SYM" or "MODULE:SYM".
    [[nodiscard]] std::string name(std::size_t function) const;

    /// "SYM+0xOFF" of an address in the text, else "0xADDRESS".
    [[nodiscard]] std::string describe(std::uint64_t address) const;

    /// The surroundings of the sites of one function.
    class Surroundings {
      public:
        Surroundings(const TextMap& map, std::size_t index) : map_(map), index_(index) {}

        [[nodiscard]] const Code& function() const { return self().code; }
        Refusal boundary(u64 address, x86::Boundary& out) const;
        [[nodiscard]] u64 end() const { return self().real_end; }
        [[nodiscard]] bool is_past_end(u64 address) const { return address >= end(); }
        [[nodiscard]] const x86::Reserved* reserved(Range range) const;
        [[nodiscard]] Refusal arrival(Range range) const;
        [[nodiscard]] Refusal indirect_jump() const { return self().indirect_jump; }
        u64 find_board(Range reach, u8* bytes) const;
        [[nodiscard]] u8 tactics() const { return x86::kAllTactics; }

      private:
        u64 find_board_in(std::size_t index, Range reach, u8* bytes) const;
        [[nodiscard]] const Function& self() const { return map_.functions_[index_]; }

        const TextMap& map_;
        std::size_t index_;
    };

    /// Why the function takes no probe at all: blacklists.
    Refusal forbidden(std::size_t function) const;
    /// The plan for one site: blacklists, then the rules, of which the tracer hears. A refusal: not
    /// a site.
    template <x86::DecisionTracer T>
    Refusal plan(std::size_t function, std::uint64_t site, x86::Plan& out, T&& tracer) const {
        if (const Refusal refusal =
                x86::rules::tell(tracer, x86::Rule::Text, x86::Plan{}, forbidden(function)))
            return refusal;
        return decide(Surroundings(*this, function), site, out, tracer);
    }
    Refusal plan(std::size_t function, std::uint64_t site, x86::Plan& out) const;

    /// Index of the function that holds the address, or functions().size().
    [[nodiscard]] std::size_t find(std::uint64_t address) const;

  private:
    void add_functions(const KernelImage& image, std::span<const u8> text);
    void add_with_nameless(Function function);
    void scan(Function& function, std::vector<x86::Insn>& room);
    void scan_each(const std::vector<bool>& wanted, const StopSignals* stop);
    [[nodiscard]] std::vector<bool> find_near(std::vector<Range> focus, std::span<const u8> text,
                                              const StopSignals* stop) const;
    void find_trap_path(const KernelImage& image);

    const TextFacts& facts_;
    std::vector<Function> functions_;
    std::vector<std::uint64_t> starts_;
    std::vector<x86::Landing> landings_;  ///< sorted by target
    std::vector<u64> reserved_until_;     ///< how far facts_.reserved reach up to each of them
};

}  // namespace djprobe::loader
