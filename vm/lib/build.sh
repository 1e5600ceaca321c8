# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The two commands that make everything; what they say matters when they fail.

build_all() {
    quietly "$BUILD/log/configure.log" cmake -S "$TOP" -B "$BUILD" -G Ninja
    quietly "$BUILD/log/build.log" cmake --build "$BUILD"
}
