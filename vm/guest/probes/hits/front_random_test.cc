// SPDX-License-Identifier: GPL-2.0
// Random conditions in front of programs at random instructions, by all means: each hit that passes
// is one for which they hold, and the program sees the site's registers. $LISTS, $SEED. Needs
// randomize_kstack_offset=off, as regs_test.cc.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

#include "../harness/function_text.h"
#include "../harness/observer.h"
#include "kernel/kcore.h"
#include "support/action_meaning.h"

namespace djprobe::vm {
namespace {

using List = std::vector<djprobe_action>;

/// An instruction that pread may come by.
struct Place {
    std::string symbol;
    uint64_t offset;
    std::vector<uint8_t> code;
    bool is_entry;
};

/// What a hit of one pread looks like there.
struct Sight {
    Place place;
    observation seen;
    std::vector<bool> steady;  ///< by register: the same in each pread
};

class RandomFront : public ObserverTest {
  protected:
    RandomFront() {
        random_.seed(number_of("SEED", 1));
        sum_ =
            Fd(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "sum", sizeof(uint32_t), 16, 1, nullptr));
    }
    void TearDown() override {}

    static uint64_t number_of(const char* name, uint64_t otherwise) {
        const char* const text = getenv(name);
        return text ? std::strtoull(text, nullptr, 0) : otherwise;
    }
    observation look(const Place& place) {
        const Probe probe =
            device_.must_attach(observed(place.symbol, place.offset, DJPROBE_MODE_INT3, 1));
        forget(1);
        EXPECT_EQ(reader_.read(1), 0u);
        return seen(1);
    }
    std::optional<Sight> sight(const Place& place) {
        const observation one = look(place), two = look(place);
        if (one.hits != 1 || two.hits != 1) return std::nullopt;
        Sight sight = {place, one, std::vector<bool>(DJPROBE_REGS)};
        for (int reg = 0; reg < DJPROBE_REGS; ++reg)
            sight.steady[reg] = one.regs[kFieldsByNumber[reg]] == two.regs[kFieldsByNumber[reg]];
        return sight;
    }
    ManyAnswer attach(const Place& place, const List& list, int fd, djprobe_mode mode,
                      uint32_t flags, uint64_t cookie = 1) {
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(place.symbol.c_str());
        sites[0].offset = place.offset;
        sites[0].cookie = cookie;
        return device_.attach_many(sites, fd, mode, flags, list);
    }
    /// What int3 finds in memory there; none: not the same in each pread.
    std::optional<uint64_t> in_memory(const Place& place, djprobe_action action) {
        const djprobe_action ours = {
            DJPROBE_ACTION_IF_EQ,           DJPROBE_TASK_TGID, 4, DJPROBE_ACTION_TASK, 0,
            static_cast<uint64_t>(getpid())};
        const djprobe_action count = {DJPROBE_ACTION_COUNT, 0, 0, 0, 8, 0};
        action.operation = DJPROBE_ACTION_ADD;
        action.value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(action.offset)});
        action.offset = 0;
        const ManyAnswer answer = attach(place, {ours, action, count}, sum_.get(),
                                         DJPROBE_MODE_INT3, DJPROBE_ATTACH_COUNT, 0);
        if (answer.error) return std::nullopt;
        uint64_t values[2] = {};
        for (uint64_t& value : values) {
            const uint32_t key = 0;
            std::vector<uint64_t> all(static_cast<size_t>(libbpf_num_possible_cpus()) * 2);
            bpf_map_update_elem(sum_.get(), &key, all.data(), 0);
            EXPECT_EQ(reader_.read(1), 0u);
            bpf_map_lookup_elem(sum_.get(), &key, all.data());
            uint64_t hits = 0;
            for (size_t i = 0; i < all.size(); i += 2) {
                value += all[i];
                hits += all[i + 1];
            }
            if (hits != 1) return std::nullopt;
        }
        if (values[0] != values[1]) return std::nullopt;
        return values[0];
    }
    /// A place of memory that the probed instruction reads, or the return address. Elsewhere the
    /// stack's top may be a variable without a value yet.
    std::optional<djprobe_action> some_memory(const Place& place) {
        djprobe_action action = {};
        action.flags = DJPROBE_ACTION_MEMORY;
        const auto first = static_cast<uint32_t>(random_());
        for (uint32_t i = 0; i < DJPROBE_REGS && random_() % 4; ++i)
            for (int displacement = -0x40; displacement < 0x200; ++displacement) {
                const auto reg = static_cast<uint8_t>((first + i) % DJPROBE_REGS);
                const auto width = static_cast<uint8_t>(1u << random_() % 4);
                if (!x86::reads_memory({place.code.data(), place.code.size()}, reg, displacement,
                                       width))
                    continue;
                action.reg = reg;
                action.width = width;
                action.offset = static_cast<uint32_t>(displacement);
                return action;
            }
        if (!place.is_entry) return std::nullopt;
        action.reg = DJPROBE_REG_SP;
        action.width = static_cast<uint8_t>(1u << random_() % 4);
        action.offset = static_cast<uint32_t>(random_() % (9u - action.width));
        return action;
    }
    /// A condition, and whether it holds. None: what it would be about is not steady.
    std::optional<std::pair<djprobe_action, bool>> some_condition(const Sight& sight) {
        djprobe_action action = {};
        uint64_t value = 0;
        const uint64_t what = random_() % 6;
        if (what == 0) {
            action.flags = DJPROBE_ACTION_TASK;
            action.reg = static_cast<uint8_t>(random_() % 2);
            action.width = static_cast<uint8_t>(1u << random_() % 3);
            value = static_cast<uint64_t>(getpid());
        } else if (what <= 2) {
            const auto memory = some_memory(sight.place);
            if (!memory) return std::nullopt;
            action = *memory;
            const auto found = in_memory(sight.place, action);
            if (!found) return std::nullopt;
            value = *found;
        } else {
            action.reg = registers_[random_() % (DJPROBE_OPERANDS_MAX - 2)];
            action.width = static_cast<uint8_t>(1u << random_() % 4);
            if (!sight.steady[action.reg]) return std::nullopt;
            value = sight.seen.regs[kFieldsByNumber[action.reg]];
        }
        action.operation = static_cast<uint8_t>(DJPROBE_ACTION_IF_EQ + random_() % 6);
        action.flags |= random_() % 2 ? DJPROBE_ACTION_SIGNED : 0;
        test::Machine machine;
        machine.registers[0] = value;
        djprobe_action plain = {action.operation,
                                0,
                                action.width,
                                static_cast<unsigned char>(action.flags & DJPROBE_ACTION_SIGNED),
                                0,
                                0};
        action.value = random_() % 4 ? test::operand(plain, machine) + random_() % 3 - 1
                                     : random_() >> random_() % 64;
        plain.value = action.value;
        return std::pair{action, test::all_hold({plain}, machine, {})};
    }

    List some_list(const Sight& sight, bool& holds) {
        std::shuffle(std::begin(registers_), std::end(registers_), random_);
        // Others are in the guest, too.
        List list = {{DJPROBE_ACTION_IF_EQ, DJPROBE_TASK_TGID, 4, DJPROBE_ACTION_TASK, 0,
                      static_cast<uint64_t>(getpid())}};
        for (uint64_t most = random_() % 4 ? 3 : DJPROBE_ACTIONS_MAX - 1; most; --most) {
            const auto condition = some_condition(sight);
            // One that does not hold hides the others.
            if (!condition || (!condition->second && random_() % 4)) continue;
            list.push_back(condition->first);
            holds &= condition->second;
        }
        return list;
    }
    /// Counters at some other instructions of the function.
    Probe attach_crowd(const Place& place, const std::vector<Place>& places) {
        std::vector<djprobe_site> sites;
        for (const Place& other : places) {
            if (other.symbol != place.symbol || other.offset == place.offset || random_() % 3)
                continue;
            djprobe_site site = {};
            site.symbol = reinterpret_cast<uintptr_t>(other.symbol.c_str());
            site.offset = other.offset;
            sites.push_back(site);
        }
        if (sites.empty()) return Probe();
        ManyAnswer answer = device_.attach_many(sites, crowd_.get(), DJPROBE_MODE_AUTO,
                                                DJPROBE_ATTACH_COUNT | DJPROBE_ATTACH_SKIP);
        if (answer.error) return Probe();
        answer.probes.settle();
        return std::move(answer.probes);
    }

    std::vector<Place> find_places() const {
        const loader::Kcore memory;
        std::vector<Place> places;
        for (const FunctionText& function :
             read_functions({"vfs_read", "seq_read_iter", "vsnprintf", "_copy_to_iter",
                             "ksys_pread64", "__x64_sys_pread64", "proc_reg_read_iter"}))
            for (const x86::Insn& insn : function.insns) {
                const uint64_t offset = insn.address - function.start;
                const Explained there = device_.explain(at(function.name, offset));
                if (!there.is_site()) continue;
                const bool is_entry =
                    there.answer.address == device_.explain(at(function.name)).answer.address;
                places.push_back(
                    {function.name, offset, memory.read(insn.address, insn.length), is_entry});
            }
        return places;
    }
    struct Way {
        int program;
        djprobe_mode mode;
        bool shared;  ///< with another program behind the same conditions
    };
    /// One pread; a register may not be the same in each after all: not each time.
    void compare(const Sight& sight, const List& list, bool holds, const Way& way) {
        const ManyAnswer answer = attach(sight.place, list, way.program, way.mode, 0);
        ASSERT_EQ(answer.error, 0) << describe(djprobe_reason(answer.request.reason));
        ManyAnswer other;
        if (way.shared) other = attach(sight.place, list, counter(), way.mode, 0, 2);
        jumps_ += answer.probes.settle().mechanism == DJPROBE_MECHANISM_JUMP;
        bool same = false;
        for (int tries = 0; tries < 3 && !same; ++tries) {
            forget(1);
            const uint64_t before = answer.probes.hits();
            const uint64_t others = way.shared ? other.probes.hits() : 0;
            EXPECT_EQ(reader_.read(1), 0u);
            same = answer.probes.hits() - before == holds;
            if (way.shared) same &= other.probes.hits() - others == holds;
            if (holds && way.program != counter()) same &= is_as_seen(sight);
        }
        EXPECT_TRUE(same) << sight.place.symbol << '+' << sight.place.offset << ": "
                          << test::describe(list) << "which " << (holds ? "holds" : "does not")
                          << ", mode " << way.mode << ", shared " << way.shared;
        EXPECT_EQ(missed(answer.probes.query()), 0u);
    }
    bool is_as_seen(const Sight& sight) const {
        const observation now = seen(1);
        for (int reg = 0; reg < DJPROBE_REGS; ++reg)
            if (sight.steady[reg] &&
                now.regs[kFieldsByNumber[reg]] != sight.seen.regs[kFieldsByNumber[reg]])
                return false;
        return now.hits == 1;
    }

    std::mt19937_64 random_;
    Fd sum_,
        crowd_{bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "crowd", sizeof(uint32_t), 8, 1, nullptr)};
    uint8_t registers_[DJPROBE_REGS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int jumps_ = 0;
};

TEST_F(RandomFront, AHitPassesWhereTheyHold) {
    const std::vector<Place> places = find_places();
    const uint64_t lists = number_of("LISTS", 10);
    for (uint64_t done = 0; done < lists;) {
        const auto one = sight(places[random_() % places.size()]);
        if (!one) continue;
        bool holds = true;
        const List list = some_list(*one, holds);
        // Detours of other sites take what is dead there, but not what is read here.
        const Probe crowd = random_() % 2 ? attach_crowd(one->place, places) : Probe();
        for (const int program : {counter(), object().program("observe")})
            for (const djprobe_mode mode : kBothModes)
                for (const bool shared : {false, true})
                    compare(*one, list, holds, {program, mode, shared});
        ++done;
    }
    EXPECT_GE(static_cast<uint64_t>(jumps_), lists) << "too few jumps";
}

}  // namespace
}  // namespace djprobe::vm
