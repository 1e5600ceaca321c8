// SPDX-License-Identifier: GPL-2.0
#include "seen.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "../bpf/observe.h"
#include "../probes/harness/load.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kCalls = 20;
constexpr uint64_t kStack = 16384;  // each task's stack begins at a multiple of it

}  // namespace

void say(const std::string& what, int error) {
    std::printf("%s: %s\n", what.c_str(), error ? strerrorname_np(error) : "ok");
    std::fflush(stdout);
}

Seen::Seen(const std::string& object) : object_(object) {
    object_.set(".bss", 0, static_cast<uint32_t>(getpid()));
}

void Seen::show(const std::string& what, uint32_t key, bool at_return) const {
    object_.set("observations", key, observation{});
    call_getpgid(kCalls);
    const auto seen = object_.get<observation>("observations", key);
    const auto* const regs = seen.regs;
    std::printf(
        "%s: hits %llu cookie %llu func %llx ip %llx sp %llx di %llx ax %llx "
        "stack %lld",
        what.c_str(), seen.hits, seen.cookie, seen.func_ip, regs[OBSERVE_IP],
        regs[OBSERVE_SP] % kStack, at_return ? 0 : regs[OBSERVE_DI] % kStack, regs[OBSERVE_AX],
        seen.stack_bytes);
    for (long long i = 0; i < seen.stack_bytes / 8; ++i)
        std::printf(" %llx", seen.stack[i]);
    std::printf("\n");
    std::fflush(stdout);
}

void Seen::count(const std::string& what, uint32_t key) const {
    object_.set("observations", key, observation{});
    call_getpgid(kCalls);
    std::printf("%s: hits %llu\n", what.c_str(),
                object_.get<observation>("observations", key).hits);
    std::fflush(stdout);
}

}  // namespace djprobe::vm
