// SPDX-License-Identifier: GPL-2.0
#include "load.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "../../symbols.h"

namespace djprobe::vm {
namespace {

// Asked before anything is probed: the kernel answers it by the function that is counted.
const pid_t group = getpgrp();

// Reading all of kallsyms takes the guest a third of a second, and the kernel's own symbols do not
// move.
const Kallsyms& kernel_symbols() {
    static const Kallsyms symbols = Kallsyms::read();
    return symbols;
}

uint64_t find_in(const Kallsyms& all, std::string_view symbol, std::string_view module) {
    const auto& symbols = all.symbols();
    const auto found = std::ranges::find_if(
        symbols, [&](const Symbol& each) { return each.name == symbol && each.module == module; });
    return found == symbols.end() ? 0 : found->address;
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
    return module.empty() ? find_in(kernel_symbols(), symbol, "")
                          : find_in(Kallsyms::read(), symbol, module);
}

std::string symbol_at(uint64_t address) {
    const Symbol* const symbol = kernel_symbols().at_or_below(address);
    return symbol ? std::string(symbol->name) : "?";
}

}  // namespace djprobe::vm
