// SPDX-License-Identifier: GPL-2.0
// A counter and a program at one site, whose detour does the work of both: one of them leaves while
// a kprobe of the kernel's own keeps the jump where it is.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <numeric>

#include "../harness/fixture.h"
#include "../harness/kprobe_event.h"

namespace djprobe::vm {
namespace {

/// No other task in the guest calls it.
constexpr const char* kShared = "do_getpgid";
constexpr uint64_t kOften = 200;

class Shared : public ProbeTest {
  protected:
    Shared() {
        map_ = Fd(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "counters", sizeof(uint32_t),
                                 sizeof(uint64_t), 1, nullptr));
    }
    Probe count() const {
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(kShared);
        ManyAnswer answer =
            device_.attach_many(sites, map_.get(), DJPROBE_MODE_AUTO, DJPROBE_ATTACH_COUNT);
        EXPECT_EQ(answer.error, 0) << describe(djprobe_reason(answer.request.reason));
        return std::move(answer.probes);
    }
    Probe program() const {
        Request request = at(kShared);
        request.prog_fd = place_.program("place");
        return device_.must_attach(request);
    }
    uint64_t in_map() const {
        const uint32_t key = 0;
        std::vector<uint64_t> all(static_cast<size_t>(libbpf_num_possible_cpus()));
        EXPECT_EQ(bpf_map_lookup_elem(map_.get(), &key, all.data()), 0);
        return std::accumulate(all.begin(), all.end(), uint64_t{0});
    }
    /// Calls of the site; each of those that are attached must see all of them, the others none.
    void expect_all_seen(const Probe* counter, const Probe* program, const char* when) const {
        const uint64_t counted = in_map();
        const uint64_t seen = program ? program->hits() : 0;
        place_.set<uint64_t>("place.bss", 0, 0);
        EXPECT_EQ(call_getpgid(kOften), 0u);
        EXPECT_EQ(in_map() - counted, counter ? kOften : 0) << when;
        EXPECT_EQ(program ? program->hits() - seen : 0, program ? kOften : 0) << when;
        EXPECT_EQ(place_.get<uint64_t>("place.bss", 0), program ? program->query().address : 0)
            << when;
    }

    Fd map_;
    Object place_{"place"};
};

TEST_F(Shared, WhoeverLeavesTheOtherSeesEachCall) {
    for (const bool counter_leaves : {true, false})
        for (const bool beside_kprobe : {true, false}) {
            SCOPED_TRACE((counter_leaves ? "the counter leaves" : "the program leaves") +
                         std::string(beside_kprobe ? " under a kprobe" : ""));
            Probe counter = count(), called = program();
            expect_mechanism(counter, DJPROBE_MODE_AUTO);
            expect_mechanism(called, DJPROBE_MODE_AUTO);
            expect_all_seen(&counter, &called, "both");
            KprobeEvent theirs("shared");
            if (beside_kprobe) {
                ASSERT_EQ(theirs.add(counter.query().address), 0);
                ASSERT_EQ(theirs.enable(true), 0);
            }
            expect_all_seen(&counter, &called, "both, and a kprobe");
            (counter_leaves ? counter : called).detach();
            const Probe* const counts = counter_leaves ? nullptr : &counter;
            const Probe* const runs = counter_leaves ? &called : nullptr;
            for (int i = 0; i < 3; ++i)
                expect_all_seen(counts, runs, "one is left");
            if (beside_kprobe) {
                EXPECT_EQ(theirs.counts().hits, 4 * kOften);
                ASSERT_EQ(theirs.enable(false), 0);
            }
            expect_all_seen(counts, runs, "alone");
            expect_mechanism(counts ? *counts : *runs, DJPROBE_MODE_AUTO);
            expect_all_seen(counts, runs, "by its own jump");
        }
}

}  // namespace
}  // namespace djprobe::vm
