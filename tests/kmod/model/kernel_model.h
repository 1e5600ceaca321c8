// SPDX-License-Identifier: GPL-2.0
// The kernel as the policy sees it (djk_* of kmod/glue/kernel.h), in userspace, checking every
// call.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "watch.h"

namespace djprobe::model {

/// djk_machine.pad of the kernels to come.
inline unsigned int pad_size = 0;
/// What else is different about their machine.
inline void (*change_machine)(djk_machine&) = nullptr;

enum class ModuleState { Live, Going, Gone };

/// One kernel; only one may live at a time.
class Kernel {
  public:
    explicit Kernel(u64 seed);
    ~Kernel();
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    TextImage image;
    Kprobes kprobes{image};
    Watch watch{image, kprobes};

    /// Called within every quiescence: `locked` while the registry lock is held.
    std::function<void(bool locked)> on_quiesce;
    /// Called where others may change text: with the registry lock held, the text lock not.
    std::function<void()> on_gap;

    /// How many sites, say, a request handles before it lets others have the registry lock, and
    /// what others do then.
    unsigned int portion = 8;
    std::function<void()> on_make;  ///< a probe gets its handler
    std::function<void()> on_pause;
    /// The caller is killed when it looks for the so manieth time; a negative number: never.
    int dies_after = -1;

    /// So many sites at once leave others enough memory.
    size_t most_taken = 1'000'000;
    /// Fail the allocation after so many; a negative number: none.
    int fail_after = -1;
    int failed = 0;             ///< how many have failed
    bool keep_failing = false;  ///< and all that follow

    /// The worker: has it been asked for?
    bool kicked = false, kicked_later = false;
    bool watches_once = false;
    size_t syncs = 0;
    int waiting = 0;  ///< quiescences that go on now
    size_t pauses = 0;
    /// Run what has been asked for, retries too; not what asks again and again in vain.
    void settle();
    void run_optimizer();
    bool in_optimizer = false;
    bool watches_kprobes = false;

    /// Text that cannot be read, and kprobes that cannot be counted.
    Range unreadable;
    std::map<u64, unsigned int> reads;  ///< how often, by address
    size_t more_kprobes = 0;

    ModuleState module = ModuleState::Live;
    long pins = 0;
    void module_goes();  ///< no reference to it is left; its text will be freed
    void module_leaves();
    void module_comes();

    long kept = 0;  ///< references to our own module
    size_t exec_chunks = 0;
    size_t exec_frees = 0;  ///< chunks that have been given back, ever
    size_t handlers = 0;

    /// A handler, a BPF program's (of one of kPrograms kinds), a C function with wishes, or one
    /// that counts.
    static constexpr int kPrograms = 4;
    static constexpr int kCFunction = -1, kCounter = -2;
    Handler* make_handler(int kind, unsigned int wants);
    void destroy(Handler& handler);
    /// For requests of several probes: their handlers, one behind the other, in place of a source.
    std::vector<Handler*> more_handlers;

    /// A name that this kernel does not have; what the policy has told of one.
    std::string lacks, told;
    /// What it has found that must not be probed.
    std::vector<djk_extent> fragile;

    // Locks.
    bool registry_locked = false, text_locked = false;

    // For djk_*.
    bool is_text(u64 address) const;
    bool may_allocate();
    void* allocate(size_t size, bool large);
    void* insist(size_t size);
    void* allocate_exec(size_t size);
    void free_exec(void* memory, size_t size);
    void write(u64 address, const void* bytes, size_t size);
    void quiesce();
    void pause();
    bool describe(const Handler& handler, djk_program& program) const;

  private:
    void* take_memory(size_t size, bool large);
    static constexpr size_t kProgramSlots = 24;
    struct Program {
        int kind = -1;
        u64 insns[2][2] = {};  ///< room for three instructions
    };
    std::array<Program, kProgramSlots> programs_;
    std::array<bool, TextImage::kExecSize / 16384> chunk_taken_{};
    std::vector<std::unique_ptr<Handler>> made_;
    u64 next_field_ = 0x10000;
};

extern Kernel* kernel;

}  // namespace djprobe::model
