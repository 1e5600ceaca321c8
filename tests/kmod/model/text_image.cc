// SPDX-License-Identifier: GPL-2.0
#include "text_image.h"

#include <sys/mman.h>

#include <cstring>

#include "failure.h"

namespace djprobe::model {
namespace {

using Bytes = std::vector<u8>;

// By length; nothing but their lengths, and what branches, matters here.
const std::vector<Bytes> kPlain = {
    {0x55},
    {0x53},
    {0x5b},
    {0x5d},
    {0x50},
    {0x58},
    {0x99},
    {0x31, 0xc0},
    {0x89, 0xf8},
    {0x89, 0xd1},
    {0x01, 0xc8},
    {0xff, 0xc0},
    {0x41, 0x54},
    {0x41, 0x5c},
    {0x48, 0x89, 0xe5},
    {0x48, 0x01, 0xf8},
    {0x0f, 0xb6, 0xc0},
    {0x48, 0x83, 0xc0, 0x01},
    {0x48, 0x8b, 0x47, 0x08},
    {0x0f, 0x1f, 0x40, 0x00},
    {0x05, 0x78, 0x56, 0x34, 0x12},
    {0xb8, 0x01, 0x00, 0x00, 0x00},
    {0x81, 0xc1, 0x10, 0x00, 0x00, 0x00},
    {0x48, 0xc7, 0xc2, 0x05, 0x00, 0x00, 0x00},
};

/// Writes one function's bytes; branches within it are patched when all boundaries are known.
class Writer {
  public:
    Writer(u8* text, Random& random) : begin_(text), at_(text), random_(random) {}

    u64 here() const { return reinterpret_cast<u64>(at_); }
    size_t size() const { return at_ - begin_; }
    bool one_in(unsigned int n) { return random_() % n == 0; }
    const std::vector<u64>& starts() const { return starts_; }

    void insn(const Bytes& bytes) {
        starts_.push_back(here());
        put(bytes);
    }
    void plain() { insn(kPlain[random_() % kPlain.size()]); }
    void padding(size_t count) { put(Bytes(count, x86::kInt3)); }
    void far(const Bytes& opcode, u64 target) {
        insn(opcode);
        const i32 distance = static_cast<i32>(target - (here() + 4));
        Bytes bytes(4);
        memcpy(bytes.data(), &distance, 4);
        put(bytes);
    }
    void near(u8 opcode) {
        insn({opcode, 0});
        near_.push_back(at_ - 1);
    }
    /// Let the short branches lead somewhere within reach.
    void finish() {
        for (u8* field : near_) {
            const u64 origin = reinterpret_cast<u64>(field) + 1;
            u64 target = origin;
            for (int attempt = 0; attempt < 8; ++attempt) {
                const u64 wanted = starts_[random_() % starts_.size()];
                const i64 distance = static_cast<i64>(wanted - origin);
                if (distance == static_cast<signed char>(distance)) target = wanted;
            }
            *field = static_cast<u8>(target - origin);
        }
    }

  private:
    void put(const Bytes& bytes) {
        for (const u8 byte : bytes)
            *at_++ = byte;
    }
    u8* begin_;
    u8* at_;
    Random& random_;
    std::vector<u64> starts_;
    std::vector<u8*> near_;
};

}  // namespace

TextImage::TextImage(u64 seed) {
    // Always the same place, that a walk can be repeated; any other will do.
    static void* const wanted = reinterpret_cast<void*>(0x100000000000);
    static void* const memory = mmap(wanted, kTotal, PROT_READ | PROT_WRITE | PROT_EXEC,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("no memory for an image: raise the limit (ulimit -v)");
    base_ = reinterpret_cast<u64>(memory);
    mprotect(text(module().begin), kPage, PROT_READ | PROT_WRITE);
    memset(memory, x86::kInt3, kExecAt);
    memset(text(rodata().begin), 0, rodata().size());
    Random random(seed);
    fill(core(), false, random);
    fill(module(), true, random);
    original_.assign(text(base_), text(base_) + kExecAt);
    find_places();
    state_arrivals(random);
    original_.assign(text(base_), text(base_) + kExecAt);
}

void TextImage::fill(Range range, bool in_module, Random& random) {
    u8* at = text(range.begin);
    u64 parent = 0;  // whose .cold part is to come, and the branch to it
    u8* parent_field = nullptr;
    // A module calls the kernel, too, but neither takes addresses of the other's text.
    std::vector<u64>& entries = entries_;
    std::vector<u64> earlier;
    while (true) {
        Writer out(at, random);
        Function function;
        function.start = out.here();
        function.in_module = in_module;
        function.name = (in_module ? "m" : "f") + std::to_string(functions.size());
        if (functions.empty()) {
            // Whatever the policy looks for is this one, which calls it as well.
            function.name = "trap_root";
            out.far({0xe8}, function.start);
            out.insn({0xc3});
        } else if (parent) {
            function.name = functions.back().name + ".cold";
            function.part = true;
            const i32 distance =
                static_cast<i32>(function.start - (reinterpret_cast<u64>(parent_field) + 4));
            memcpy(parent_field, &distance, 4);
            for (size_t i = 0; i < random() % 4; ++i)
                out.plain();
            out.far({0xe9}, parent);
            parent = 0;
        } else {
            if (out.one_in(4)) out.insn({0xf3, 0x0f, 0x1e, 0xfa});
            function.compiled = out.one_in(3);
            if (function.compiled) {
                owned.push_back({{out.here(), out.here() + 5}, Reason::FTRACE_SITE});
                out.insn({0x0f, 0x1f, 0x44, 0x00, 0x00});
            }
            function.entry = out.here();
            function.blacklisted = out.one_in(40);
            const size_t count = 2 + random() % 14;
            u8* cold = nullptr;
            for (size_t i = 0; i < count; ++i) {
                const unsigned int kind = random() % 40;
                if (kind == 0 && !entries.empty()) {
                    out.far({0xe8}, entries[random() % entries.size()]);
                } else if (kind <= 2) {
                    out.near(kind == 1 ? 0x75 : 0x74);
                } else if (kind == 3 && !cold && !function.blacklisted) {
                    out.far({0x0f, 0x85}, 0);
                    cold = text(out.here() - 4);
                } else if (kind == 4) {
                    out.far({0x48, 0x8b, 0x05}, rodata().begin + 8 * (random() % 16));
                } else if (kind == 5) {
                    owned.push_back({{out.here(), out.here() + 5}, Reason::JUMP_LABEL});
                    out.insn({0x0f, 0x1f, 0x44, 0x00, 0x00});
                    owned.back().target = out.starts()[random() % out.starts().size()];
                } else if (kind == 6 && out.one_in(3)) {
                    out.insn({0x0f, 0x0b});
                } else if (kind == 7 && out.one_in(4)) {
                    out.insn({0xff, 0xe0});
                } else if (kind == 8 && out.one_in(2)) {
                    out.insn({0xc3});
                } else if (kind == 9 && out.one_in(2) && !earlier.empty()) {
                    out.far({0x48, 0x8d, 0x05}, earlier[random() % earlier.size()]);
                } else {
                    out.plain();
                }
            }
            if (out.one_in(5) && !entries.empty())
                out.far({0xe9}, entries[random() % entries.size()]);
            else
                out.insn({0xc3});
            out.finish();
            entries.push_back(function.start);
            earlier.insert(earlier.end(), out.starts().begin(), out.starts().end());
            if (cold) {
                parent = out.starts()[random() % out.starts().size()];
                parent_field = cold;
            }
        }
        if (!function.entry) function.entry = function.start;
        // Some functions have no padding, some have room for springboards.
        if (!out.one_in(4)) out.padding(15 - (out.size() + 15) % 16 + 16 * out.one_in(3));
        at = text(out.here());
        function.size = out.size();
        functions.push_back(function);
        // The longest function has some 130 bytes, its padding and .cold part included.
        if (!parent && out.here() + 400 > range.end) break;
    }
    functions.back().size = range.end - functions.back().start;
}

void TextImage::find_places() {
    place_of_.assign(kExecAt, -1);
    function_of_.assign(kExecAt, -1);
    for (size_t i = 0; i < functions.size(); ++i) {
        Function& function = functions[i];
        function.first_place = places.size();
        const u64 end = function.start + function.size;
        for (u64 at = function.start; at < end;) {
            Place place;
            place.function = i;
            if (!x86::decode({text(at), static_cast<size_t>(end - at)}, at, place.insn))
                fail("the model's own function %s cannot be decoded", function.name.c_str());
            if (place.insn.kind == x86::Kind::Int3) break;
            for (u64 byte = at; byte < place.end(); ++byte)
                place_of_[byte - base_] = static_cast<int>(places.size());
            places.push_back(place);
            at = place.end();
        }
        function.place_count = places.size() - function.first_place;
        for (u64 byte = function.start; byte < end; ++byte)
            function_of_[byte - base_] = static_cast<int>(i);
        places[function.first_place].external = true;
        if (Place* entry = place_at(function.entry)) entry->external = true;
    }
    for (size_t i = 0; i < places.size(); ++i) {
        const x86::Insn& insn = places[i].insn;
        // Callees sleep, and return in spite of any quiescence; what follows a terminal
        // instruction is reached somehow, or the compiler would have left it out.
        if ((insn.is_call() || insn.is_terminal()) && i + 1 < places.size())
            places[i + 1].external = true;
        if (insn.rel_size)
            if (Place* target = place_at(insn.target)) target->external = true;
        if (Place* target = place_at(insn.taken)) target->external = true;
    }
}

void TextImage::state_arrivals(Random& random) {
    const auto any = [&](bool core_only) -> Place& {
        while (true) {
            Place& place = places[random() % places.size()];
            if (!core_only || core().contains(place.start())) return place;
        }
    };
    for (const Owned& label : owned) {
        if (label.reason != Reason::JUMP_LABEL) continue;
        stated.push_back({Reason::LABEL_INTO_REGION, label.range.begin, label.target});
        place_at(label.target)->external = true;
    }
    for (int i = 0; i < 4; ++i) {
        Place& fixup = any(false);
        fixup.external = true;
        stated.push_back({Reason::FIXUP_INTO_REGION, 0, fixup.start()});
        Place& pointed = any(true);
        pointed.external = true;
        const u64 word = pointed.start();
        memcpy(text(rodata().begin + 256 + 8 * i), &word, 8);
    }
}

bool TextImage::is_original(u64 address, size_t size) const {
    return memcmp(text(address), original(address), size) == 0;
}

void TextImage::load_module() {
    mprotect(text(module().begin), kPage, PROT_READ | PROT_WRITE);
    memcpy(text(module().begin), original(module().begin), kModuleSize);
}

void TextImage::free_module() {
    // A read of freed text crashes.
    mprotect(text(module().begin), kPage, PROT_NONE);
}

const Function* TextImage::function_at(u64 address) const {
    if (!holds(address)) return nullptr;
    const int index = function_of_[address - base_];
    return index < 0 ? nullptr : &functions[index];
}

Place* TextImage::place_of(u64 address) {
    if (!holds(address)) return nullptr;
    const int index = place_of_[address - base_];
    return index < 0 ? nullptr : &places[index];
}

Place* TextImage::place_at(u64 address) {
    Place* place = place_of(address);
    return place && place->start() == address ? place : nullptr;
}

}  // namespace djprobe::model
