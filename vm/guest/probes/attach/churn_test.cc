// SPDX-License-Identifier: GPL-2.0
// Sites that come and go under load.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

int lines_with(const char* path, std::initializer_list<const char*> words) {
    std::ifstream file(path);
    int lines = 0;
    for (std::string line; std::getline(file, line);)
        lines += std::ranges::any_of(
            words, [&](const char* word) { return line.find(word) != std::string::npos; });
    return lines;
}

/// Areas of memory that hold the module's slots. A kernel with a cache of executable memory does
/// not tell whose it is, but each area has a symbol as well.
int slot_areas() {
    return std::max(lines_with("/proc/vmallocinfo", {"djk_exec_alloc", "bpf_jit_alloc_exec"}),
                    lines_with("/proc/kallsyms", {" djprobe_detours_"}));
}

class Churn : public ProbeTest {
  protected:
    /// Slots of detached sites are freed after a quiescence: a settle() that begins later is
    /// behind one, unless the optimizer was at it already.
    void expect_no_slots() {
        for (int round = 0; round < 2; ++round)
            device_.must_attach(at(kGetpgid)).settle();
        for (int tenths = 0; slot_areas() > 0 && tenths < 50; ++tenths)
            usleep(100'000);
        EXPECT_EQ(slot_areas(), 0);
    }
};

TEST_F(Churn, AThousandRoundsUnderFourThreads) {
    Load load(4);
    int jumps = 0;
    for (int round = 0; round < 1000; ++round) {
        const char* symbol = round % 4 < 2 ? kGetpgid : "__x64_sys_pread64";
        const Probe probe = device_.must_attach(at(symbol));
        // A full cycle takes a quiescence; the other rounds leave while the jump is still to come,
        // or just comes.
        if (round % 20 == 0) jumps += probe.settle().mechanism == DJPROBE_MECHANISM_JUMP;
    }
    EXPECT_EQ(jumps, 50);
    load.stop();
    EXPECT_GT(load.calls(), 1000u);
    EXPECT_EQ(load.wrong(), 0u);

    expect_no_slots();
}

// Dozens of sites at once: more than one chunk of slots, one batch.
TEST_F(Churn, ManySitesInOneBatch) {
    {
        std::vector<Probe> probes;
        for (const char* symbol : {"__x64_sys_pread64", "rw_verify_area", "do_getpgid"})
            for (Probe& probe : attach_everywhere(device_, counter(), symbol, 12))
                probes.push_back(std::move(probe));
        EXPECT_GT(probes.size(), 30u);
        Reader reader;
        EXPECT_EQ(reader.read(100), 0u);
        EXPECT_EQ(call_getpgid(100), 0u);
        EXPECT_GT(slot_areas(), 0) << "neither /proc/vmallocinfo nor /proc/kallsyms knows them";
    }
    expect_no_slots();
}

}  // namespace
}  // namespace djprobe::vm
