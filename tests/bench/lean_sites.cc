// SPDX-License-Identifier: GPL-2.0
// What the sites of a kernel allow: what is live there, and how large detours get.
//
//   lean_sites VMLINUX KALLSYMS [EVERY]
//
// Looks at every EVERY-th site that gets a jump, and prints tables for all of them and for function
// entries. KALLSYMS may be empty: the image's own symbols.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <string>
#include <unordered_map>
#include <vector>

#include "arch/x86/detour/detour.h"
#include "survey/text_map.h"

namespace {

using namespace djprobe;
using namespace djprobe::loader;
using namespace djprobe::x86;

constexpr std::string_view kCold = ".cold";

/// All that find_live() asks of each function of an image.
class Flows {
  public:
    Flows(const KernelImage& image, const TextFacts& facts, const TextMap& map)
        : facts_(facts), map_(map) {
        if (const auto thunk = image.address_of("__x86_return_thunk"))
            return_thunks_ = {*thunk, *thunk + 1};
        for (const TextMap::Function& function : map.functions())
            names_.emplace(function.name, &function);
        for (const Landing& landing : facts.landings)
            if (landing.reason == Reason::LABEL_INTO_REGION)
                labels_.emplace(landing.source, landing.target);
    }

    /// The flow's spans are good until the next call.
    Flow of(const TextMap::Function& function) {
        // The site may lie in either part.
        std::string name(function.name);
        if (name.ends_with(kCold)) name.resize(name.size() - kCold.size());
        const auto parts = names_.equal_range(name + std::string(kCold));
        const auto wholes = names_.equal_range(name);
        const bool known = std::distance(wholes.first, wholes.second) == 1;
        Flow flow;
        flow.function = known ? wholes.first->second->code : function.code;
        const auto found = std::distance(parts.first, parts.second);
        if (known && found == 1) flow.cold = parts.first->second->code;
        flow.whole = known && found < 2;
        flow.return_thunks = return_thunks_;
        flow.indirect_thunks = facts_.indirect_thunks.compiled;
        flow.has_fixups = false;
        rewritten_.clear();
        add(flow.function.range(), flow);
        add(flow.cold.range(), flow);
        flow.rewritten = {rewritten_.data(), rewritten_.size()};
        return flow;
    }

  private:
    void add(Range range, Flow& flow) {
        auto at = std::lower_bound(
            facts_.reserved.begin(), facts_.reserved.end(), range.begin,
            [](const Reserved& reserved, u64 address) { return reserved.range.begin < address; });
        for (; at != facts_.reserved.end() && at->range.begin < range.end; ++at) {
            const u64 place = at->range.begin;
            flow.has_fixups |= at->reason == Reason::EXTABLE_INSN;
            flow.standard_abi |=
                at->reason == Reason::FTRACE_SITE && place - flow.function.address <= 4;
            if (at->reason == Reason::JUMP_LABEL)
                rewritten_.push_back({place, Rewritten::Kind::Label, labels_.at(place)});
            if (at->reason == Reason::STATIC_CALL)
                rewritten_.push_back({place, Rewritten::Kind::Call});
        }
    }

    const TextFacts& facts_;
    const TextMap& map_;
    Range return_thunks_;
    std::unordered_multimap<std::string_view, const TextMap::Function*> names_;
    std::unordered_map<u64, u64> labels_;
    std::vector<Rewritten> rewritten_;
};

/// One form of detour, over many sites.
struct Shape {
    const char* name;
    RegisterSet clobbers;
    FieldSet context;
    std::vector<u16> sizes = {};

    u16 size_at(double share) {
        const auto at = sizes.begin() + static_cast<long>(share * double(sizes.size() - 1));
        std::nth_element(sizes.begin(), at, sizes.end());
        return *at;
    }
};

constexpr RegisterSet kCounterClobbers = 0x00c7;  // a map lookup: rax rcx rdx rsi rdi
constexpr FieldSet kArguments =
    field_bit(__builtin_offsetof(Frame, di)) | field_bit(__builtin_offsetof(Frame, si));

double thread_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

struct Statistics {
    std::size_t sites = 0, standard = 0, dead_flags = 0, system_flags = 0, registers = 0;
    std::size_t standard_dead_flags = 0, standard_registers = 0;
    double time = 0;  ///< of find_live(), in nanoseconds of this thread
    std::vector<Shape> shapes = {{"empty program", register_bit(kRax), 0},
                                 {"counter", kCounterClobbers, 0},
                                 {"two arguments", kCounterClobbers, kArguments},
                                 {"whole frame", kCallerSaved, kAllFields}};
    Shape handler = {"C handler", 0, 0};

    void add(const Plan& plan, const Flow& flow, u64 slot) {
        const double begin = thread_time();
        const Live live = find_live(flow, plan.site);
        time += thread_time() - begin;
        const auto count = static_cast<std::size_t>(__builtin_popcount(live.registers));
        ++sites;
        dead_flags += !live.flags && !live.system_flags;
        system_flags += live.system_flags;
        registers += count;
        if (flow.standard_abi && !flow.has_fixups) {
            ++standard;
            standard_dead_flags += !live.flags && !live.system_flags;
            standard_registers += count;
        }
        for (Shape& shape : shapes)
            measure(plan, live, slot, shape);
        u8 code[kMaxDetour];
        DetourLayout layout;
        if (!emit_detour(plan,
                         {.handler = slot, .argument = ~0ul, .cs = 16, .ss = 24, .smap = true},
                         slot, code, layout))
            handler.sizes.push_back(layout.size);
    }

    void print(const char* title) {
        const auto share = [](std::size_t part, std::size_t whole) {
            return whole ? 100.0 * double(part) / double(whole) : 0;
        };
        fmt::print("{}: {} sites, {:.0f} ns each for find_live()\n", title, sites,
                   time / double(sites));
        fmt::print(
            "  flags dead {:.1f} %, AC or DF in doubt {:.1f} %, live caller-saved registers "
            "{:.2f}\n",
            share(dead_flags, sites), share(system_flags, sites),
            double(registers) / double(sites));
        fmt::print(
            "  of the {:.1f} % in C functions without fixups: flags dead {:.1f} %, registers "
            "{:.2f}\n",
            share(standard, sites), share(standard_dead_flags, standard),
            double(standard_registers) / double(standard));
        fmt::print("  bytes of a slot     median   90 %   99 %  largest\n");
        for (Shape& shape : shapes)
            print_sizes(shape);
        print_sizes(handler);
    }

  private:
    static void measure(const Plan& plan, const Live& live, u64 slot, Shape& shape) {
        const DirectConfig config = {.program = slot + 0x1000,
                                     .clobbers = shape.clobbers,
                                     .context = shape.context,
                                     .slow = slot + 0x2000,
                                     .argument = ~0ul,
                                     .active = 0x20000,
                                     .mark = -128,
                                     .preempt_count = 0x20008,
                                     .hits = 0x20010,
                                     .stats = slot + 0x3000,
                                     .resched = slot + 0x4000,
                                     .cs = 16,
                                     .ss = 24,
                                     .smap = true};
        u8 code[kMaxDetour];
        DetourLayout layout;
        if (!emit_direct_detour(plan, config, live, slot, code, layout))
            shape.sizes.push_back(layout.size);
    }
    static void print_sizes(Shape& shape) {
        if (shape.sizes.empty()) return;
        fmt::print("  {:16} {:9} {:6} {:6} {:8}\n", shape.name, shape.size_at(0.5),
                   shape.size_at(0.9), shape.size_at(0.99), shape.size_at(1));
    }
};

void look(const KernelImage& image, std::size_t every) {
    const TextFacts facts = read_facts(image);
    const TextMap map(image, facts);
    Flows flows(image, facts, map);
    Statistics all, entries;
    const u64 slot = (facts.text.end + 0xfff) & ~0xffful;
    std::size_t number = 0;
    for (std::size_t i = 0; i < map.functions().size(); ++i) {
        const TextMap::Function& function = map.functions()[i];
        if (function.blacklisted) continue;
        const Flow flow = flows.of(function);
        const u64 entry = map.entry(i);
        for (u64 at = function.code.address; at < function.real_end; ++at) {
            if (!map.is_insn_start(at)) continue;
            const bool counts = number++ % every == 0;
            if (!counts && at != entry) continue;
            Plan plan;
            if (map.plan(i, at, plan) || !plan.may_jump()) continue;
            if (counts) all.add(plan, flow, slot);
            if (at == entry) entries.add(plan, flow, slot);
        }
    }
    all.print("every instruction");
    entries.print("function entries");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        fmt::print(stderr, "usage: lean_sites VMLINUX KALLSYMS [EVERY]\n");
        return 2;
    }
    try {
        look(KernelImage::from_file(argv[1], argv[2]), argc == 4 ? std::stoul(argv[3]) : 20);
    } catch (const std::exception& error) {
        fmt::print(stderr, "lean_sites: {}\n", error.what());
        return 1;
    }
    return 0;
}
