// SPDX-License-Identifier: GPL-2.0
// Counts or measures without a program. As root: measure 'ls /' 'vfs_*' count
#include <cstdlib>
#include <iostream>
#include <probeload.hpp>

int main(int argc, char** argv) try {
    if (argc < 4)
        throw probeload::Error(PROBELOAD_USAGE, "usage: measure COMMAND PLACES RESULT [TO]");
    probeload::Measurement measurement(
        {.place = argv[2], .result = argv[3], .to = argc > 4 ? argv[4] : ""});
    std::cerr << measurement.how();
    const int status = std::system(argv[1]);
    measurement.stop();
    std::cout << measurement.results() << '\n';
    return status == 0 ? 0 : 1;
} catch (const probeload::Error& error) {
    std::cerr << "measure: " << error.what() << '\n';
    return error.code();
}
