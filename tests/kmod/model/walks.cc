// SPDX-License-Identifier: GPL-2.0
// Random operations on the policy, for so many seconds: walks SECONDS [SEED [WALKS]]
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "failure.h"
#include "random_walk.h"

int main(int argc, char** argv) {
    using namespace djprobe;
    using Clock = std::chrono::steady_clock;
    if (argc < 2) {
        fprintf(stderr, "usage: %s SECONDS [FIRST_SEED [WALKS]]\n", argv[0]);
        return 2;
    }
    const double seconds = atof(argv[1]);
    const u64 first = argc > 2 ? strtoul(argv[2], nullptr, 0) : 1;
    const u64 walks = argc > 3 ? strtoul(argv[3], nullptr, 0) : ~0ul;
    constexpr size_t kSteps = 120;
    const auto begin = Clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    u64 done = 0;
    size_t operations = 0;
    for (; done < walks && elapsed() < seconds; ++done) {
        const u64 seed = first + done;
        model::set_recipe(std::string(argv[0]) + " 1000 " + std::to_string(seed) + " 1");
        operations += model::random_walk(seed, kSteps);
    }
    printf("%lu walks, %zu operations in %.1f s: %.0f operations per second\n", done, operations,
           elapsed(), operations / elapsed());
    return 0;
}
