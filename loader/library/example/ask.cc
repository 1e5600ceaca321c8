// SPDX-License-Identifier: GPL-2.0
// Asks, and prints events as JSON. As root: ask 'head -c 5000 /dev/zero >/dev/null' vfs_read count
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <probeload.hpp>

int main(int argc, char** argv) try {
    if (argc < 3)
        throw probeload::Error(PROBELOAD_USAGE,
                               "usage: ask COMMAND PLACE [EXPRESSIONS [CONDITION [COMM]]]");
    probeload::Object object = probeload::Object::ask({.place = argv[2],
                                                       .expressions = argc > 3 ? argv[3] : "",
                                                       .condition = argc > 4 ? argv[4] : "",
                                                       .tasks = {.comm = argc > 5 ? argv[5] : ""}});
    std::cerr << object.left_out();
    object.load();
    probeload::Probe probe = object.attach();
    probe.wait();
    std::cerr << probe.describe() << '\n';
    const int status = std::system(argv[1]);
    probe.stop();
    object.poll(std::chrono::milliseconds(0),
                [](const probeload::Event& event) { std::cout << event.json() << '\n'; });
    return status == 0 ? 0 : 1;
} catch (const probeload::Error& error) {
    std::cerr << "ask: " << error.what() << '\n';
    return error.code();
}
