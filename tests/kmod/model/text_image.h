// SPDX-License-Identifier: GPL-2.0
// A kernel's text made of small functions: what is there, where control may arrive, who owns what.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "arch/x86/insn/decode.h"
#include "arch/x86/insn/reason.h"

namespace djprobe::model {

using Random = std::mt19937_64;

/// One instruction of the original text.
struct Place {
    x86::Insn insn;
    bool external = false;  ///< control may arrive other than by falling through
    u64 last_entered = 0;   ///< when a task could last arrive here; see Watch
    size_t function = 0;

    u64 start() const { return insn.address; }
    u64 end() const { return insn.end(); }
};

struct Function {
    std::string name;
    u64 start = 0, size = 0;  ///< padding included
    u64 entry = 0;            ///< behind endbr64 and the ftrace call
    size_t first_place = 0, place_count = 0;
    bool compiled = false, part = false, blacklisted = false, in_module = false;
    bool nameless = false;  ///< what the linker has left of a weak function
};

/// Bytes that the kernel patches itself, a label's or an ftrace call's.
struct Owned {
    Range range;
    Reason reason;
    u64 target = 0;  ///< of a label
};

struct Stated {
    Reason kind;
    u64 source, target;
};

/// Addresses are the same for all images of a process; only one may live at a time.
class TextImage {
  public:
    static constexpr size_t kCoreSize = 8192, kModuleSize = 2048, kPage = 4096;
    static constexpr size_t kExecSize = 1 << 20;

    explicit TextImage(u64 seed);

    Range core() const { return {base_, base_ + kCoreSize}; }
    Range module() const { return {base_ + kModuleAt, base_ + kModuleAt + kModuleSize}; }
    Range rodata() const { return {base_ + kRodataAt, base_ + kRodataAt + kPage}; }
    Range exec() const { return {base_ + kExecAt, base_ + kExecAt + kExecSize}; }
    /// Addresses that detours may call; none does.
    u64 outside() const { return base_ + kOutsideAt; }
    u64 programs() const { return base_ + kOutsideAt + 2048; }
    bool holds(u64 address) const { return core().contains(address) || module().contains(address); }

    u8* text(u64 address) const { return reinterpret_cast<u8*>(address); }
    const u8* original(u64 address) const { return &original_[address - base_]; }
    bool is_original(u64 address, size_t size) const;
    void load_module();
    void free_module();

    std::vector<Function> functions;
    std::vector<Place> places;
    std::vector<Owned> owned;
    std::vector<Stated> stated;
    /// The function whose extent holds it, or nullptr.
    const Function* function_at(u64 address) const;
    /// The instruction that this byte belongs to, or nullptr (padding).
    Place* place_of(u64 address);
    /// The instruction that begins here, or nullptr.
    Place* place_at(u64 address);

  private:
    static constexpr size_t kModuleAt = 65536, kRodataAt = 131072, kOutsideAt = 196608,
                            kExecAt = 262144, kTotal = kExecAt + kExecSize;

    void fill(Range range, bool in_module, Random& random);
    void find_places();
    void state_arrivals(Random& random);

    u64 base_;
    std::vector<u64> entries_;  ///< of functions
    std::vector<u8> original_;
    std::vector<int> place_of_;     ///< by offset; -1: none
    std::vector<int> function_of_;  ///< the same
};

}  // namespace djprobe::model
