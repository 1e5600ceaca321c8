// SPDX-License-Identifier: GPL-2.0
// Sites that come and go under load.
#include <fstream>
#include <string>

#include "fixture.h"

namespace djprobe::vm {
namespace {

/// Areas that the module's slots can lie in.
int executable_areas() {
    std::ifstream file("/proc/vmallocinfo");
    int areas = 0;
    for (std::string line; std::getline(file, line);)
        areas += line.find("bpf_jit_alloc_exec") != std::string::npos ||
                 line.find("module_alloc") != std::string::npos ||
                 line.find("execmem_alloc") != std::string::npos;
    return areas;
}

class Churn : public ProbeTest {};

TEST_F(Churn, AThousandRoundsUnderFourThreads) {
    // Every process of the test exists and all its code is there: what grows now, grows for good.
    device_.must_attach(at(kGetpgid)).settle();
    const int areas = executable_areas();
    EXPECT_GT(areas, 0) << "nothing in /proc/vmallocinfo is recognized";

    Load load(4);
    int jumps = 0;
    for (int round = 0; round < 1000; ++round) {
        const char* symbol = round % 4 < 2 ? kGetpgid : "__x64_sys_pread64";
        const Probe probe = device_.must_attach(at(symbol));
        // A full cycle takes a quiescence: each tenth round; the others leave while the jump is
        // still to come, or just comes.
        if (round % 10 == 0) jumps += probe.settle().mechanism == DJPROBE_MECHANISM_JUMP;
    }
    EXPECT_EQ(jumps, 100);
    load.stop();
    EXPECT_GT(load.calls(), 1000u);
    EXPECT_EQ(load.wrong(), 0u);

    // Slots of detached sites are freed after a quiescence; the next settle() is behind one.
    device_.must_attach(at(kGetpgid)).settle();
    device_.must_attach(at(kGetpgid)).settle();
    EXPECT_LE(executable_areas(), areas);
}

// A hundred sites at once: more than one chunk of slots, one batch.
TEST_F(Churn, ManySitesInOneBatch) {
    const int areas = executable_areas();
    {
        std::vector<Probe> probes;
        for (const char* symbol : {"__x64_sys_pread64", "rw_verify_area", "do_getpgid"})
            for (Probe& probe : attach_everywhere(device_, counter(), symbol, 12))
                probes.push_back(std::move(probe));
        EXPECT_GT(probes.size(), 30u);
        Reader reader;
        EXPECT_EQ(reader.read(100), 0u);
        EXPECT_EQ(call_getpgid(100), 0u);
    }
    device_.must_attach(at(kGetpgid)).settle();
    device_.must_attach(at(kGetpgid)).settle();
    EXPECT_LE(executable_areas(), areas);
}

}  // namespace
}  // namespace djprobe::vm
