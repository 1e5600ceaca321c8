// SPDX-License-Identifier: GPL-2.0
// BPF helpers and maps from within a handler.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "../harness/observer.h"

namespace djprobe::vm {
namespace {

class Helpers : public ObserverTest {
  protected:
    static std::vector<std::string> frames(const observation& seen) {
        std::vector<std::string> names;
        for (long long i = 0; i < seen.stack_bytes / 8; ++i)
            names.push_back(symbol_at(seen.stack[i]));
        return names;
    }
};

TEST_F(Helpers, CookiesOfOneSite) {
    for (const djprobe_mode mode : kBothModes) {
        std::vector<Probe> probes;
        for (const uint64_t cookie : {3, 1, 60})
            probes.push_back(device_.must_attach(observed("vfs_read", 0, mode, cookie)));
        expect_mechanism(probes[0], mode);
        for (const uint64_t cookie : {3, 1, 60})
            forget(cookie);
        EXPECT_EQ(reader_.read(7), 0u);
        for (const Probe& probe : probes) {
            const djprobe_query query = probe.query();
            const observation observed = seen(query.cookie);
            EXPECT_EQ(observed.hits, 7u);
            EXPECT_EQ(observed.cookie, query.cookie);
        }
    }
}

TEST_F(Helpers, FuncIpIsTheFunctionAtItsEntryAndElseNothing) {
    for (const djprobe_mode mode : kBothModes) {
        const djprobe_query entry = device_.must_attach(at("vfs_read", 0, mode)).settle();
        const uint64_t inside = entry.offset + entry.displaced_len;
        EXPECT_EQ(by_probe("vfs_read", 0, mode).func_ip, address_of("vfs_read"));
        EXPECT_EQ(by_probe("vfs_read", inside, mode).func_ip, 0u);
    }
}

TEST_F(Helpers, WhoIsCurrent) {
    prctl(PR_SET_NAME, "observed-one");
    for (const djprobe_mode mode : kBothModes) {
        const observation seen = by_probe("vfs_read", 0, mode);
        EXPECT_EQ(seen.pid_tgid,
                  static_cast<uint64_t>(getpid()) << 32 | static_cast<uint32_t>(gettid()));
        EXPECT_STREQ(seen.comm, "observed-one");
    }
}

// Kernel commit 37064583f63e: from a probe at a push or pop the callers were lost.
TEST_F(Helpers, StacksAreTrueAndShowNoDetour) {
    // An entry, where the frame is not built yet, and places behind a push and within the body.
    for (const char* symbol : {"vfs_read", "rw_verify_area"}) {
        if (!is_called(symbol)) continue;
        std::vector<uint64_t> offsets;
        int same = 0;
        for (const Probe& probe : attach_everywhere(device_, counter(), symbol, 14))
            offsets.push_back(probe.query().offset);
        for (size_t i = 0; i < offsets.size(); i += i < 4 ? 1 : 4) {
            SCOPED_TRACE(symbol + ("+" + std::to_string(offsets[i])));
            const observation kernel = by_kernel(symbol, offsets[i]);
            const observation int3 = by_probe(symbol, offsets[i], DJPROBE_MODE_INT3);
            const observation jump = by_probe(symbol, offsets[i], DJPROBE_MODE_AUTO);
            const std::vector<std::string> names = frames(int3);
            ASSERT_GE(names.size(), 4u);
            EXPECT_EQ(names[0], symbol);
            EXPECT_EQ(int3.stack[0], int3.regs[OBSERVE_IP]);
            EXPECT_NE(std::ranges::find(names, "do_syscall_64"), names.end());
            EXPECT_TRUE(names.back().starts_with("entry_SYSCALL_64")) << names.back();
            EXPECT_EQ(frames(jump), names);
            EXPECT_EQ(int3.stack_bytes, jump.stack_bytes);
            EXPECT_TRUE(std::ranges::equal(int3.stack, jump.stack));
            // The kernel's kprobe unwinds from the byte behind its int3, which is no instruction:
            // at a push it loses the callers. Otherwise they are the same.
            EXPECT_GE(int3.stack_bytes, kernel.stack_bytes);
            if (int3.stack_bytes == kernel.stack_bytes) {
                ++same;
                EXPECT_TRUE(std::equal(std::begin(int3.stack) + 1, std::end(int3.stack),
                                       std::begin(kernel.stack) + 1));
            }
        }
        EXPECT_GT(same, 0);
    }
    EXPECT_TRUE(is_called("vfs_read"));
}

TEST_F(Helpers, StackIdsNameTheSameStacks) {
    for (const djprobe_mode mode : kBothModes) {
        const observation seen = by_probe("vfs_read", 0, mode);
        ASSERT_GE(seen.stack_id, 0);
        uint64_t stored[OBSERVE_FRAMES] = {};
        const auto id = static_cast<uint32_t>(seen.stack_id);
        ASSERT_EQ(bpf_map_lookup_elem(object().map("stacks"), &id, stored), 0);
        EXPECT_TRUE(std::equal(std::begin(stored), std::end(stored), std::begin(seen.stack)));
    }
}

TEST_F(Helpers, EveryKindOfMap) {
    constexpr uint64_t kCalls = 500;
    for (const djprobe_mode mode : kBothModes) {
        const Object maps("all_maps");
        struct Globals {
            uint32_t observed_tgid;
            uint64_t hits, failed;
        };
        const auto pid = static_cast<uint32_t>(getpid());
        std::multiset<uint64_t> from_ring, from_perf;
        const auto take_ring = [](void* context, void* data, size_t) {
            static_cast<std::multiset<uint64_t>*>(context)->insert(*static_cast<uint64_t*>(data));
            return 0;
        };
        const auto take_perf = [](void* context, int, void* data, uint32_t) {
            static_cast<std::multiset<uint64_t>*>(context)->insert(*static_cast<uint64_t*>(data));
        };
        ring_buffer* const ring =
            ring_buffer__new(maps.map("ring"), take_ring, &from_ring, nullptr);
        perf_buffer* const perf =
            perf_buffer__new(maps.map("perf"), 64, take_perf, nullptr, &from_perf, nullptr);
        ASSERT_TRUE(ring && perf);

        Request request = at(kGetpgid, 0, mode);
        request.prog_fd = maps.program("write_all");
        const Probe probe = device_.must_attach(request);
        expect_mechanism(probe, mode);
        maps.set("all_maps.bss", 0, Globals{.observed_tgid = pid, .hits = 0, .failed = 0});
        EXPECT_EQ(call_getpgid(kCalls), 0u);
        ring_buffer__consume(ring);
        perf_buffer__consume(perf);

        const auto globals = maps.get<Globals>("all_maps.bss", 0);
        EXPECT_EQ(globals.hits, kCalls);
        EXPECT_EQ(globals.failed, 0u);
        std::multiset<uint64_t> expected;
        for (uint64_t i = 0; i < kCalls; ++i) {
            expected.insert(i);
            EXPECT_EQ(maps.get<uint64_t>("hash", static_cast<uint32_t>(i)), i);
            EXPECT_EQ(maps.get<uint64_t>("lru", static_cast<uint32_t>(i)), i);
        }
        EXPECT_EQ(maps.sum("per_cpu", 0), kCalls);
        EXPECT_EQ(from_ring, expected);
        EXPECT_EQ(from_perf, expected);
        ring_buffer__free(ring);
        perf_buffer__free(perf);
    }
}

// Some helpers find what they tell in the run context: a new one would find another's there, or
// none.
TEST_F(Helpers, OnlyHelpersThatAreKnownRunWithoutARunContext) {
    constexpr uint32_t kCalls = 100;
    for (const djprobe_mode mode : kBothModes) {
        const Object object("run_context");
        struct Globals {
            uint32_t observed_tgid;
            uint32_t known_hits, known_contexts, unknown_hits, unknown_contexts;
        };
        Globals watched{};
        watched.observed_tgid = static_cast<uint32_t>(getpid());
        object.set("run_cont.bss", 0, watched);
        for (const char* program : {"calls_known", "calls_unknown"}) {
            Request request = at(kGetpgid, 0, mode);
            request.prog_fd = object.program(program);
            const Probe probe = device_.must_attach(request);
            expect_mechanism(probe, mode);
            EXPECT_EQ(call_getpgid(kCalls), 0u);
        }
        const auto globals = object.get<Globals>("run_cont.bss", 0);
        EXPECT_EQ(globals.known_hits, kCalls);
        EXPECT_EQ(globals.unknown_hits, kCalls);
        EXPECT_EQ(globals.unknown_contexts, kCalls);
        // What spares a hit its context is that its helpers are known.
        EXPECT_EQ(globals.known_contexts, 0u);
    }
}

}  // namespace
}  // namespace djprobe::vm
