// SPDX-License-Identifier: GPL-2.0
// Random functions whose every instruction can be displaced, for properties that hold for all.
#pragma once

#include <random>

#include "support/bench.h"

namespace djprobe::test {

/// A function for Bench: runs from any machine that start() makes, passes its site once, and ends
/// at the exit, having noted in its data which way it went.
struct RandomFunction {
    Bytes code;
    size_t site = 0;
};

class RandomCode {
  public:
    /// Functions for the start of `bench`'s arena.
    RandomCode(Bench& bench, u64 seed) : bench_(bench), random_(seed) {}

    RandomFunction function();
    /// One whose site often has no room for the plain jump: ends close behind it, or branches (that
    /// never run) to it or right behind it. Ways may leave before the site.
    RandomFunction cramped_function();
    /// A random machine with pointers where the functions expect them.
    Machine start();

  private:
    Bench& bench_;
    std::mt19937_64 random_;
};

}  // namespace djprobe::test
