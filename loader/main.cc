// SPDX-License-Identifier: GPL-2.0
#include "cli/app.h"

int main(int argc, char** argv) {
    return djprobe::loader::run_probeload(argc, argv);
}
