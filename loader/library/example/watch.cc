// SPDX-License-Identifier: GPL-2.0
// Which files does a command read? As root: watch vfs_read.bpf.o 'head -n 1 /etc/passwd'
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <probeload.hpp>

struct FileRead {  // struct event of vfs_read.bpf.c
    std::uint64_t ts_ns;
    std::uint32_t cpu, pid, tid;
    char comm[16];
    std::uint64_t count;
    char name[48];
};

int main(int argc, char** argv) try {
    if (argc != 3) throw probeload::Error(PROBELOAD_USAGE, "usage: watch OBJECT COMMAND");
    probeload::Object object(argv[1]);
    object.load();
    probeload::Probe probe = object.attach();
    probe.wait();
    std::cout << probe.describe() << '\n';
    const int status = std::system(argv[2]);
    probe.stop();
    object.poll(std::chrono::milliseconds(0), [](const probeload::Event& event) {
        const auto read = event.as<FileRead>();
        std::cout << read.comm << " wants " << read.count << " bytes of " << read.name << '\n';
    });
    const probeload_counts counts = probe.counts();
    std::cout << "hits " << counts.hits << ", missed " << counts.missed << ", lost "
              << object.lost().value_or(0) << '\n';
    return status == 0 ? 0 : 1;
} catch (const probeload::Error& error) {
    std::cerr << "watch: " << error.what() << '\n';
    return error.code();
}
