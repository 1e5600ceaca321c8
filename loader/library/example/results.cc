// SPDX-License-Identifier: GPL-2.0
// Prints what the kernel kept of all calls. As root: results 'ls /' 'vfs_*' latency func
#include <cstdlib>
#include <iostream>
#include <probeload.hpp>

int main(int argc, char** argv) try {
    if (argc < 4)
        throw probeload::Error(PROBELOAD_USAGE,
                               "usage: results COMMAND PLACE RESULT [BY [CONDITION]]");
    probeload::Object object = probeload::Object::ask({.place = argv[2],
                                                       .condition = argc > 5 ? argv[5] : "",
                                                       .result = argv[3],
                                                       .by = argc > 4 ? argv[4] : ""});
    std::cerr << object.left_out();
    object.load();
    probeload::Probe probe = object.attach();
    probe.wait();
    std::cerr << probe.describe() << '\n';
    const int status = std::system(argv[1]);
    probe.stop();
    std::cout << object.results() << '\n';
    return status == 0 ? 0 : 1;
} catch (const probeload::Error& error) {
    std::cerr << "results: " << error.what() << '\n';
    return error.code();
}
