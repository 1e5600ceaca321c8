// SPDX-License-Identifier: GPL-2.0
// The ioctl ABI as data: what abifuzz needs to know of uapi/djprobe.h. A new ioctl is a new row of
// abifuzz_table.cc, and a function there that knows what it may answer.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "djprobe.h"

namespace djprobe::vm {

/// Random, and the same for the same seed.
class Dice {
  public:
    explicit Dice(uint64_t seed) : engine_(seed) {}
    uint64_t below(uint64_t limit) { return engine_() % limit; }
    bool one_in(uint64_t n) { return below(n) == 0; }
    template <class T, size_t N>
    const T& of(const T (&choices)[N]) {
        return choices[below(N)];
    }

  private:
    std::mt19937_64 engine_;
};

/// What a field of an argument means: which values are tried in it, and what is wrong with them.
enum class FieldKind : uint8_t {
    Return,     ///< a set of DJPROBE_ATTACH_* that makes sense, else EINVAL
    ManyFlags,  ///< DJPROBE_ATTACH_AS_KPROBE, _AS_MULTI or none, else EINVAL
    Zero,       ///< must be zero, else EINVAL
    Site,       ///< __u64 symbol, offset, address, in this order
    Program,    ///< fd of a BPF program; or of a map, with DJPROBE_ATTACH_COUNT
    Entry,      ///< another of them, with DJPROBE_ATTACH_SESSION and what goes with it in the flags
    EntryMany,  ///< the same of DJPROBE_IOC_ATTACH_MANY: the sites have what goes with it
    Actions,    ///< pointer to djprobe_action, then a __u32 count, with DJPROBE_ATTACH_COUNT
    Mode,       ///< enum djprobe_mode
    Any,        ///< every value is right
    OnOff,      ///< 0 or 1, else EINVAL
    Switches,   ///< __u32 change, on: sets of DJPROBE_SWITCH_*, on within change, else EINVAL
    Index,      ///< of a probe
    SiteList,   ///< pointer to djprobe_site, then a __u32 count
    ProbeFd,    ///< a probe fd, else EBADF; EBUSY where an event holds it
    KernelFd,   ///< a perf event or a BPF link, else EBADF; ENXIO where the event has been closed
    TextLength,   ///< 1 to DJPROBE_TEXT_MAX, else EINVAL
    TextAddress,  ///< of text, else EACCES
    TextRoom,     ///< pointer to where text goes
    Answers,      ///< __u32 count and bytes of each, then a pointer to where they go
};

struct Field {
    FieldKind kind;
    uint16_t offset;
    uint8_t width;
};

/// Whose ioctl it is.
enum class Side : uint8_t { Control, Probe, Event, Neither };

struct Command {
    const char* name;
    unsigned long number;
    Side side;
    uint32_t size;    ///< of the argument; 0: none
    unsigned weight;  ///< how often
    bool costly;      ///< takes milliseconds where nothing is wrong
    bool makes_fd;
    std::span<const Field> fields;
    std::vector<int> refusals;  ///< legal for right arguments
};

std::span<const Command> commands();

/// The answers that are legal for one call.
struct Model {
    std::set<int> errors;  ///< positive errnos
    bool success = true;
    void must_fail(int error) {
        errors.insert(error);
        success = false;
    }
};

/// Things that calls refer to.
struct Surroundings {
    int good_program = -1;
    int good_map = -1;  ///< for counters
    int probe = -1;
    int perf_event = -1, bpf_link = -1;
    std::vector<int> bad_programs;  ///< fds that are no kprobe program
    std::vector<int> other_files;   ///< fds that are not djprobe's
    std::vector<uint64_t> bad_pointers;
    std::vector<std::string> symbols;
    std::vector<uint64_t> addresses;
};

/// Fills the argument of one call at `bytes` (4096 of them, the call's own), with one mistake or
/// more where `mistake`; side tables go behind the struct. Returns what may be answered.
Model fill(const Command& command, uint8_t* bytes, bool mistake, const Surroundings& around,
           Dice& dice);

}  // namespace djprobe::vm
