// SPDX-License-Identifier: GPL-2.0
#include "load.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "../symbols.h"

namespace djprobe::vm {
namespace {

// Asked before anything is probed: the kernel answers it by the function that is counted.
const pid_t group = getpgrp();

// Reading all of kallsyms takes the guest a second, and the kernel's own symbols do not move.
const Symbols& kernel_symbols() {
    static const Symbols symbols = Symbols::load();
    return symbols;
}

}  // namespace

uint64_t call_getpgid(uint64_t count, unsigned threads) {
    std::atomic<uint64_t> wrong{0};
    const auto work = [&] {
        for (uint64_t i = 0; i < count; ++i)
            if (getpgid(0) != group) ++wrong;
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i)
        others.emplace_back(work);
    work();
    for (std::thread& thread : others)
        thread.join();
    return wrong;
}

Reader::Reader() : fd_(open("/proc/version", O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0 || !once())
        throw std::system_error(errno, std::generic_category(), "/proc/version");
    first_.assign(buffer_, kSize);
}

bool Reader::once() {
    return pread(fd_, buffer_, kSize, 0) == static_cast<ssize_t>(kSize);
}

uint64_t Reader::read(uint64_t count) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; ++i)
        if (!once() || !std::equal(first_.begin(), first_.end(), buffer_)) ++wrong;
    return wrong;
}

Load::Load(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i)
        threads_.emplace_back([this] {
            Reader reader;
            uint64_t calls = 0;
            uint64_t wrong = 0;
            for (; !stop_; calls += 100) {
                wrong += call_getpgid(100);
                wrong += reader.read(10);
                usleep(2000);  // what it is the load of needs a CPU, too
            }
            calls_ += calls;
            wrong_ += wrong;
        });
}

void Load::stop() {
    stop_ = true;
    for (std::thread& thread : threads_)
        if (thread.joinable()) thread.join();
}

uint64_t address_of(const std::string& symbol, const std::string& module) {
    const std::string wanted = symbol + (module.empty() ? "" : "\t[" + module + "]");
    std::ifstream file("/proc/kallsyms");
    uint64_t address = 0;
    char type = 0;
    std::string name;
    while (file >> std::hex >> address >> type && std::getline(file >> std::ws, name))
        if (name == wanted) return address;
    return 0;
}

std::string symbol_at(uint64_t address) {
    const std::string text = kernel_symbols().describe(address);
    return text.substr(0, text.find('+'));
}

}  // namespace djprobe::vm
