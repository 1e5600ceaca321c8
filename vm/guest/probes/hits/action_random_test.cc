// SPDX-License-Identifier: GPL-2.0
// Random lists of actions at random instructions, by all means: they do what the registers mean
// that a program sees there. $LISTS, $SEED. Needs randomize_kstack_offset=off, as regs_test.cc.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "../harness/observer.h"
#include "support/action_meaning.h"

namespace djprobe::vm {
namespace {

using List = std::vector<djprobe_action>;
using Counters = std::vector<djprobe::u64>;

constexpr uint32_t kCounters = 160;

test::Machine machine_of(const observation& seen) {
    test::Machine machine;
    for (size_t reg = 0; reg < DJPROBE_REGS; ++reg)
        machine.registers[reg] = seen.regs[kFieldsByNumber[reg]];
    return machine;
}

uint64_t operand(const djprobe_action& action, const observation& seen) {
    return test::operand(action, machine_of(seen));
}

/// What the list leaves behind after one hit with these registers.
Counters meant(const List& list, const observation& seen) {
    Counters counters(kCounters);
    test::interpret(list, machine_of(seen), {}, counters);
    return counters;
}

class RandomActions : public ObserverTest {
  protected:
    RandomActions() { random_.seed(number_of("SEED", 1)); }
    void TearDown() override {}

    static uint64_t number_of(const char* name, uint64_t otherwise) {
        const char* const text = getenv(name);
        return text ? std::strtoull(text, nullptr, 0) : otherwise;
    }
    /// A small map lies near %gs or not, a large one far away.
    void make_map() {
        map_ = Fd(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "counters", sizeof(uint32_t),
                                 kCounters * 8, random_() % 2 ? 1 : 20'000, nullptr));
        ASSERT_TRUE(map_);
    }
    /// Of the registers of one pread; another one may see others.
    observation look(const std::string& symbol, uint64_t offset) {
        const Probe probe = device_.must_attach(observed(symbol, offset, DJPROBE_MODE_INT3, 1));
        forget(1);
        EXPECT_EQ(reader_.read(1), 0u);
        return seen(1);
    }
    static bool compares(uint8_t operation) {
        return operation >= DJPROBE_ACTION_IF_EQ && operation <= DJPROBE_ACTION_IF_GE;
    }
    static uint32_t slots_of(uint8_t operation) {
        if (operation == DJPROBE_ACTION_LOG2) return DJPROBE_LOG2_SLOTS;
        return operation >= DJPROBE_ACTION_MAX ? 2 : 1;
    }
    /// `operations`: the first so many.
    djprobe_action some_action(const observation& one, const observation& two, uint8_t operations) {
        djprobe_action action = {};
        action.operation = static_cast<uint8_t>(1 + random_() % operations);
        const bool compares = RandomActions::compares(action.operation);
        const uint32_t slots = slots_of(action.operation);
        if (!compares) action.offset = static_cast<uint32_t>(random_() % (kCounters - slots) * 8);
        if (action.operation == DJPROBE_ACTION_COUNT) return action;
        action.flags = random_() % 2 ? DJPROBE_ACTION_SIGNED : 0;
        do {
            action.reg = registers_[random_() % DJPROBE_OPERANDS_MAX];
            action.width = static_cast<uint8_t>(1u << random_() % 4);
        } while (operand(action, one) != operand(action, two));
        // Often about what it is compared with.
        if (compares)
            action.value = random_() % 4 ? operand(action, one) + random_() % 3 - 1
                                         : random_() >> random_() % 64;
        return action;
    }
    List some_list(const observation& one, const observation& two) {
        List list(1 + random_() % DJPROBE_ACTIONS_MAX);
        // A list may have only so many.
        std::shuffle(std::begin(registers_), std::end(registers_), random_);
        size_t extremes = 0;
        for (djprobe_action& action : list) {
            const bool room = extremes < DJPROBE_EXTREMES_MAX;
            action = some_action(one, two, room ? DJPROBE_ACTION_MIN : DJPROBE_ACTION_IF_GE);
            extremes += action.operation >= DJPROBE_ACTION_MAX;
        }
        return list;
    }
    /// What the list counts in one pread; `shared`: a program is there, too.
    Counters count(const List& list, const std::string& symbol, uint64_t offset, djprobe_mode mode,
                   bool shared) {
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(symbol.c_str());
        sites[0].offset = offset;
        const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
        Counters all(cpus * kCounters), sum(kCounters);
        const ManyAnswer answer =
            device_.attach_many(sites, map_.get(), mode, DJPROBE_ATTACH_COUNT, list);
        EXPECT_EQ(answer.error, 0) << describe(djprobe_reason(answer.request.reason));
        Probe program;
        if (shared) program = device_.must_attach(at(symbol, offset, mode));
        jumps_ += answer.probes.settle().mechanism == DJPROBE_MECHANISM_JUMP;
        const uint32_t key = 0;
        EXPECT_EQ(bpf_map_update_elem(map_.get(), &key, all.data(), 0), 0);
        EXPECT_EQ(reader_.read(1), 0u);
        EXPECT_EQ(bpf_map_lookup_elem(map_.get(), &key, all.data()), 0);
        for (size_t i = 0; i < all.size(); ++i)
            sum[i % kCounters] += all[i];
        return sum;
    }

    std::mt19937_64 random_;
    Fd map_;
    uint8_t registers_[DJPROBE_REGS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int jumps_ = 0;
};

TEST_F(RandomActions, AtRandomInstructionsMeanWhatAProgramSees) {
    std::vector<std::pair<std::string, uint64_t>> places;
    for (const char* symbol : {"vfs_read", "seq_read_iter", "vsnprintf", "_copy_to_iter"}) {
        // A kernel that loads microcode formats its file's name by vsnprintf on a CPU that comes.
        if (!device_.explain(at(symbol)).is_site()) continue;
        for (const Probe& probe : attach_everywhere(device_, counter(), symbol, 100))
            places.emplace_back(symbol, probe.query().offset);
    }
    ASSERT_FALSE(places.empty());
    const uint64_t lists = number_of("LISTS", 10);
    for (uint64_t done = 0; done < lists;) {
        const auto& [symbol, offset] = places[random_() % places.size()];
        const observation one = look(symbol, offset), two = look(symbol, offset);
        if (one.hits != 1 || two.hits != 1) continue;
        make_map();
        const List list = some_list(one, two);
        const Counters expected = meant(list, one);
        for (const djprobe_mode mode : kBothModes)
            for (const bool shared : {false, true}) {
                // Any task of the guest is counted: one may have come by. Not each time.
                Counters found = count(list, symbol, offset, mode, shared);
                for (int again = 0; again < 2 && found != expected; ++again)
                    found = count(list, symbol, offset, mode, shared);
                EXPECT_EQ(found, expected)
                    << symbol << '+' << offset << ": " << test::describe(list);
            }
        ++done;
    }
    EXPECT_GE(static_cast<uint64_t>(jumps_), lists) << "too few jumps";
}

}  // namespace
}  // namespace djprobe::vm
