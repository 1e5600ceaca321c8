// SPDX-License-Identifier: GPL-2.0
#include "survey/tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "survey/blacklist.h"

namespace djprobe::loader {
namespace {

using x86::Reserved;

Range between(const KernelImage& image, std::string_view begin, std::string_view end) {
    return {image.require(begin), image.require(end)};
}

/// Calls use(address of the entry, its bytes) for each entry of a table.
template <class Use>
void for_each_entry(const KernelImage& image, Range place, std::size_t size, Use&& use) {
    const auto table = image.bytes(place.begin, place.end);
    if (place.size() > 0 && table.empty())
        image.reject(fmt::format("does not hold the table at {:#x}", place.begin));
    for (std::size_t at = 0; at + size <= table.size(); at += size)
        use(place.begin + at, table.data() + at);
}

template <class T>
T get(const std::uint8_t* bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes + offset, sizeof(value));
    return value;
}

/// A 32-bit field that holds a distance from itself.
std::uint64_t relative(std::uint64_t entry, const std::uint8_t* bytes, std::size_t offset) {
    return entry + offset +
           static_cast<std::uint64_t>(std::int64_t{get<std::int32_t>(bytes, offset)});
}

void read_fixups(const KernelImage& image, Range table, TextFacts& facts) {
    // struct exception_table_entry { int insn, fixup, data; }
    for_each_entry(image, table, 12, [&](auto at, auto bytes) {
        const std::uint64_t insn = relative(at, bytes, 0);
        facts.reserved.push_back({{insn, insn + 1}, Reason::EXTABLE_INSN});
        facts.landings.push_back({Reason::FIXUP_INTO_REGION, 0, relative(at, bytes, 4)});
    });
}

void read_labels(const KernelImage& image, Range table, TextFacts& facts) {
    // struct jump_entry { s32 code, target; long key; }; the code is 2 or 5 bytes long.
    for_each_entry(image, table, 16, [&](auto at, auto bytes) {
        const std::uint64_t code = relative(at, bytes, 0);
        const auto live = image.bytes(code, code + 5);
        const bool is_short = !live.empty() && (live[0] == 0xeb || live[0] == 0x66);
        facts.reserved.push_back({{code, code + (is_short ? 2 : 5)}, Reason::JUMP_LABEL});
        facts.landings.push_back({Reason::LABEL_INTO_REGION, code, relative(at, bytes, 4)});
    });
}

void read_static_calls(const KernelImage& image, Range table, TextFacts& facts) {
    // struct static_call_site { s32 addr, key; }
    for_each_entry(image, table, 8, [&](auto at, auto bytes) {
        const std::uint64_t call = relative(at, bytes, 0);
        facts.reserved.push_back({{call, call + 5}, Reason::STATIC_CALL});
    });
}

/// The kernel keeps no section with a module's trampolines and knows them by their last bytes; so
/// does this.
void find_static_call_trampolines(const KernelImage& image, const LoadedModule& module,
                                  TextFacts& facts) {
    constexpr std::uint64_t kSize = 8;
    static constexpr std::array<std::uint8_t, 3> kMark = {0x0f, 0xb9, 0xcc};
    for (const Symbol& symbol : image.symbols().symbols()) {
        if (symbol.module != module.name) continue;
        const auto bytes = image.bytes(symbol.address, symbol.address + kSize);
        if (!bytes.empty() && std::ranges::equal(bytes.last(kMark.size()), kMark))
            facts.reserved.push_back(
                {{symbol.address, symbol.address + kSize}, Reason::STATIC_CALL});
    }
}

void read_alternatives(const KernelImage& image, TextFacts& facts) {
    // An image from disk shows code that the CPU's features may replace at boot. struct alt_instr
    // { s32 instr, replacement; u16 cpuid [, u16 flags]; u8 length, replacement_length; } packed.
    std::uint64_t address = 0;
    std::uint64_t replacements = 0;
    const auto table = image.section(".altinstructions", address);
    const std::size_t room = image.section(".altinstr_replacement", replacements).size();
    const auto fits = [&](std::size_t size) {
        if (table.size() % size != 0) return false;
        for (std::size_t at = 0; at < table.size(); at += size) {
            const std::uint64_t from = relative(address + at, table.data() + at, 4);
            if (from - replacements > room || table[at + size - 1] > table[at + size - 2])
                return false;
        }
        return true;
    };
    // Both may divide the table.
    const std::size_t size = fits(14) ? 14 : 12;
    for (std::size_t at = 0; at + size <= table.size(); at += size) {
        const std::uint64_t insn = relative(address + at, table.data() + at, 0);
        facts.reserved.push_back({{insn, insn + table[at + size - 2]}, Reason::ALTERNATIVE});
    }
}

/// Lock prefixes, which a kernel that boots on one CPU takes away and puts back when a second one
/// comes.
void read_smp_locks(const KernelImage& image, Range table, TextFacts& facts) {
    for_each_entry(image, table, 4, [&](auto at, auto bytes) {
        const std::uint64_t prefix = relative(at, bytes, 0);
        facts.reserved.push_back({{prefix, prefix + 1}, Reason::ALTERNATIVE});
    });
}

/// Whether a function may begin at text[at]: one does that has a symbol. Those without (weak ones
/// that another stands for) are aligned, and padding, a return or a jump stands before them.
bool may_begin(const KernelImage& image, std::span<const std::uint8_t> text, std::uint64_t begin,
               std::size_t at) {
    const auto& symbols = image.symbols().symbols();
    const auto symbol = std::ranges::lower_bound(symbols, begin + at, {}, &Symbol::address);
    if (symbol != symbols.end() && symbol->address == begin + at) return true;
    if ((begin + at) % 16) return false;
    const std::uint8_t before = at ? text[at - 1] : 0xcc;
    if (before == 0xcc || before == 0xc3 || before == 0x90 || before == 0x00) return true;
    return (at >= 5 && text[at - 5] == 0xe9) || (at >= 2 && text[at - 2] == 0xeb);
}

/// Code outside the core text: init, exit, and what alternatives put in or jump out to, which jumps
/// back. In the running kernel it is gone, or patched in and so part of the text.
void find_outer_arrivals(const KernelImage& image, TextFacts& facts) {
    for (const char* name :
         {".altinstr_aux", ".altinstr_replacement", ".init.text", ".exit.text"}) {
        std::uint64_t address = 0;
        const auto bytes = image.section(name, address);
        const Code code = {address, {bytes.data(), bytes.size()}};
        for (std::uint64_t at = address; at < code.range().end;) {
            x86::Insn insn;
            const bool known = x86::decode(code.from(at), at, insn);
            if (known && insn.rel_size)
                facts.landings.push_back({Reason::BRANCH_INTO_REGION, at, insn.target});
            if (known && insn.taken_offset)
                facts.landings.push_back({Reason::POINTER_INTO_REGION, at, insn.taken});
            at += known ? insn.length : 1u;
        }
    }
}

void read_ftrace_calls(const KernelImage& image, Range table, TextFacts& facts) {
    for_each_entry(image, table, 8, [&](auto, auto bytes) {
        const auto call = get<std::uint64_t>(bytes, 0);
        facts.reserved.push_back({{call, call + 5}, Reason::FTRACE_SITE});
    });
}

/// Ftrace's calls are 5-byte nops while no tracer is attached. Where the list of them is gone (it
/// is init data) every such nop counts that may begin a function, behind an endbr64 or what is left
/// of one.
void find_ftrace_calls(const KernelImage& image, TextFacts& facts) {
    if (image.address_of("__start_mcount_loc") && !image.is_live()) {
        read_ftrace_calls(image, between(image, "__start_mcount_loc", "__stop_mcount_loc"), facts);
        return;
    }
    static constexpr std::uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
    const auto text = image.bytes(facts.text.begin, facts.text.end);
    for (auto at = text.begin();; ++at) {
        at = std::search(at, text.end(), std::begin(nop), std::end(nop));
        if (at == text.end()) return;
        const auto offset = static_cast<std::size_t>(at - text.begin());
        if (!may_begin(image, text, facts.text.begin, offset) &&
            (offset < 4 || !may_begin(image, text, facts.text.begin, offset - 4)))
            continue;
        const std::uint64_t call = facts.text.begin + offset;
        facts.reserved.push_back({{call, call + 5}, Reason::FTRACE_SITE});
    }
}

void find_pointers(const KernelImage& image, Range place, TextFacts& facts) {
    const auto rodata = image.bytes_up_to(place.begin, place.end);
    for (std::size_t at = 0; at + 8 <= rodata.size(); at += 8) {
        const auto target = get<std::uint64_t>(rodata.data(), at);
        if (facts.text.contains(target))
            facts.landings.push_back({Reason::POINTER_INTO_REGION, place.begin + at, target});
    }
}

void sort_reserved(TextFacts& facts) {
    std::stable_sort(
        facts.reserved.begin(), facts.reserved.end(),
        [](const Reserved& a, const Reserved& b) { return a.range.begin < b.range.begin; });
}

}  // namespace

TextFacts read_facts(const KernelImage& image) {
    TextFacts facts;
    facts.text = between(image, "_stext", "_etext");
    if (image.bytes(facts.text.begin, facts.text.end).empty())
        image.reject("does not hold the text from _stext to _etext");
    read_fixups(image, between(image, "__start___ex_table", "__stop___ex_table"), facts);
    read_labels(image, between(image, "__start___jump_table", "__stop___jump_table"), facts);
    read_static_calls(
        image, between(image, "__start_static_call_sites", "__stop_static_call_sites"), facts);
    // The calls' trampolines: the kernel BUGs on bytes there that it did not write.
    facts.reserved.push_back({between(image, "__static_call_text_start", "__static_call_text_end"),
                              Reason::STATIC_CALL});
    read_alternatives(image, facts);
    const auto locks = image.address_of("__smp_locks"), end = image.address_of("__smp_locks_end");
    // A kernel that has booted on several CPUs has thrown the table away.
    if (locks && end && !(image.is_live() && image.bytes(*locks, *end).empty()))
        read_smp_locks(image, {*locks, *end}, facts);
    find_outer_arrivals(image, facts);
    find_ftrace_calls(image, facts);
    find_pointers(image, between(image, "__start_rodata", "__end_rodata"), facts);
    facts.blacklist = read_blacklist(image);
    facts.fragile = read_fragile(image);
    const auto idle = image.address_of("__cpuidle_text_start");
    const auto busy = image.address_of("__cpuidle_text_end");
    if (idle && busy) facts.idle.push_back({*idle, *busy});
    sort_reserved(facts);
    const auto thunks = [&](const char* rax, const char* r15) {
        const auto first = image.address_of(rax), last = image.address_of(r15);
        return first && last ? Range{*first, *last + 1} : Range{};
    };
    facts.indirect_thunks = {
        thunks("__x86_indirect_thunk_rax", "__x86_indirect_thunk_r15"),
        {thunks("__x86_indirect_jump_thunk_rax", "__x86_indirect_jump_thunk_r15"),
         thunks("__x86_indirect_its_thunk_rax", "__x86_indirect_its_thunk_r15")},
        {facts.text, {}}};
    // Both come with -fno-jump-tables; each leaves its mark on the image.
    facts.ibt =
        image.address_of("ibt_save").has_value() || image.address_of("__pfx_ibt_save").has_value();
    facts.no_jump_tables = facts.indirect_thunks.compiled.size() > 0 || facts.ibt;
    return facts;
}

TextFacts read_module_facts(const KernelImage& image, const LoadedModule& module,
                            const TextFacts& kernel) {
    TextFacts facts;
    facts.module = module.name;
    facts.text = module.text;
    facts.blacklist = kernel.blacklist;
    facts.idle = kernel.idle;
    facts.indirect_thunks = kernel.indirect_thunks;
    facts.indirect_thunks.texts[1] = module.text;
    facts.ibt = kernel.ibt;
    facts.no_jump_tables = kernel.no_jump_tables;
    read_fixups(image, module.section("__ex_table"), facts);
    read_labels(image, module.section("__jump_table"), facts);
    read_static_calls(image, module.section(".static_call_sites"), facts);
    find_static_call_trampolines(image, module, facts);
    read_ftrace_calls(image, module.section("__mcount_loc"), facts);
    // Those of the kernel are there as long as a second CPU may come.
    const auto locks = image.address_of("__smp_locks"), end = image.address_of("__smp_locks_end");
    if (locks && end && !image.bytes(*locks, *end).empty())
        read_smp_locks(image, module.section(".smp_locks"), facts);
    for (const Range constants : module.constants())
        find_pointers(image, constants, facts);
    // A table's end is not known: what lies behind it leads nowhere.
    std::erase_if(facts.reserved, [&](const Reserved& reserved) {
        return !facts.text.contains(reserved.range.begin);
    });
    std::erase_if(facts.landings, [&](const x86::Landing& landing) {
        return !facts.text.contains(landing.target);
    });
    sort_reserved(facts);
    return facts;
}

}  // namespace djprobe::loader
