# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The two commands that make everything; what they say matters when they fail.

# build TARGET...
build() {
    # Who has built here only what is installed has turned them off, and CMake remembers that.
    quietly "$BUILD/log/configure.log" cmake -S "$TOP" -B "$BUILD" -G Ninja -DBUILD_TESTING=ON
    quietly "$BUILD/log/build.log" cmake --build "$BUILD" --target "$@"
}
